"""Tornadoes: widths as solving by hand gives them, ranked, and why an end has no plan."""

from __future__ import annotations

import pytest

from planner.analysis.tornado import study
from planner.api import Options
from planner.case import resolve
from planner.errors import InputError
from planner.inputs import Inputs
from planner.loader.axes import Variable
from planner.loader.places import checked
from planner.optimizer.objective import natural
from planner.optimizer.optimise import optimise
from planner.schema.analysis import Swing, Tornado
from tests.world.random_cases import inputs_of
from tests.world.requests import Request, store

EXACT = Options(gap=1e-6, jobs=1)
NOISE = 3e-6


def hall(**objective: str) -> Inputs:
    request = Request(**objective or {"maximize": "goodput"})
    request.items[1] = store("box", "fs", "1 kW", "0.1 GB/s")
    request.site["it_power"] = "100 kW"
    request.checkpoint |= {
        "interval": {"policy": "optimal", "min": "1 min", "max": "4 h"},
        "stall": "20 s",
    }
    request.storage["delivered_fraction"] = {"read": 0.9, "write": 0.5}
    request.more["budget"] = {"capex": "2 MUSD"}
    request.job["gpus"] = {"min": 40}
    return inputs_of(request.case())


def by_hand(inputs: Inputs, path: str, text: str) -> float | None:
    """Return the best objective with one input changed."""
    reading = Variable(inputs, path).read(text)
    assert not reading.faults
    case = resolve(checked(inputs, reading.changes))
    value = optimise(case, gap=1e-7, ties=False).value
    return None if value is None else natural(case.objective, value)


def faults(inputs: Inputs, found: Tornado) -> list[str]:
    """Return where ends, widths and their order are not what they should be."""
    wrong = []
    for swing in found.swings:
        truths = []
        for end in (swing.low, swing.high):
            truth = by_hand(inputs, swing.path, end.text)
            truths.append(truth)
            if (truth is None) != (end.objective is None):
                wrong.append(f"{swing.path} {end.text}: {end.status}, by hand {truth}")
            elif truth is not None and abs(truth - (end.objective or 0.0)) > NOISE * abs(truth):
                wrong.append(f"{swing.path} {end.text}: {end.objective}, by hand {truth}")
        wrong += _width_faults(swing, truths)
    known = [swing.width for swing in found.swings if swing.width is not None]
    if known != sorted(known, reverse=True) or len(known) < len(found.swings):
        last = [swing.width for swing in found.swings[len(known) :]]
        if known != sorted(known, reverse=True) or any(each is not None for each in last):
            wrong.append(f"order: {known}, {last}")
    return wrong


def _width_faults(swing: Swing, truths: list[float | None]) -> list[str]:
    low, high = truths
    if low is None or high is None:
        return [] if swing.width is None else [f"{swing.path}: a width without two plans"]
    assert swing.width is not None
    apart, noise = abs(high - low), 2 * NOISE * max(abs(low), abs(high))
    close = abs(swing.width - apart) <= noise
    return [] if close else [f"{swing.path}: width {swing.width}, by hand {apart}"]


def swings(found: Tornado) -> dict[str, Swing]:
    return {swing.path: swing for swing in found.swings}


def test_every_end_and_width_is_what_solving_it_alone_gives() -> None:
    inputs = hall()
    found = study(inputs, (), EXACT)
    assert found.status == "optimal"
    assert not faults(inputs, found)
    there = swings(found)
    assert len(there) == len(found.swings)
    assert {
        "site.it_power", "budget.capex", "jobs.0.gpus.min", "storage.delivered_fraction.write",
        "jobs.0.failures.per_gpu_day", "jobs.0.checkpoint.size", "jobs.0.checkpoint.stall",
        "jobs.0.restore.restart", "jobs.0.training.mfu", "prices.*.list", "prices.gpu.list",
        "catalog.*.consumes.it_power", "catalog.box.consumes.it_power", "site.pue",
    } <= set(there)  # fmt: skip
    assert found.base == pytest.approx(by_hand(inputs, "site.it_power", "100 kW"), rel=NOISE)
    power, share = there["site.it_power"], there["storage.delivered_fraction.read"]
    assert (power.low.text, power.base_text, power.high.text) == ("80 kW", "100 kW", "120 kW")
    assert (power.low.value, power.high.value, power.unit) == (80.0, 120.0, "kW")
    assert (share.low.text, share.high.text) == ("72 %", "100 %")  # no further than there is
    assert (there["prices.*.list"].low.text, there["prices.*.list"].unit) == ("x0.8", "x")
    gpus = there["jobs.0.gpus.min"]
    assert (gpus.low.text, gpus.high.text) == ("32", "48")


def test_ranges_are_read_as_the_file_would_have_them() -> None:
    inputs = hall()
    ranges = (
        "site.it_power = 60kW:0.2 MW", "prices.box.list=x0.5:x2", "budget.capex=+-25%",
        "storage.delivered_fraction.write=\u00b110 %", "jobs.0.gpus.max=40:56",
        "jobs.0.checkpoint.mode=async:sync",
    )  # fmt: skip
    found = study(inputs, ranges, EXACT)
    assert not faults(inputs, found)
    there = swings(found)
    assert len(there) == len(ranges)
    assert (there["site.it_power"].low.value, there["site.it_power"].high.value) == (60.0, 200.0)
    assert there["prices.box.list"].high.value == 20_000.0
    assert there["prices.box.list"].high.text == "20000 USD"
    assert there["budget.capex"].low.text == "1.5 MUSD"
    assert there["storage.delivered_fraction.write"].high.text == "55 %"
    assert there["jobs.0.gpus.max"].base_text == "null"
    mode = there["jobs.0.checkpoint.mode"]
    assert (mode.low.value, mode.high.text, mode.base_text, mode.unit) == (
        "async", "sync", "async", "",
    )  # fmt: skip


def test_one_item_may_be_varied_beside_all_of_them_but_no_path_twice() -> None:
    every, one = "prices.*.list=x0.9:x1.1", "prices.box.list=x0.5:x2"
    found = study(hall(), (every, one), EXACT)
    assert {swing.path for swing in found.swings} == {"prices.*.list", "prices.box.list"}
    with pytest.raises(InputError, match=r"'prices\.box\.list' is varied twice"):
        study(hall(), (one, "prices.box.list=x0.8:x1.2"), EXACT)


def test_an_end_without_a_plan_comes_last_with_the_reason() -> None:
    inputs = hall()
    found = study(inputs, ("jobs.0.gpus.min=8:800", "site.it_power=90 kW:110 kW"), EXACT)
    assert [swing.path for swing in found.swings] == ["site.it_power", "jobs.0.gpus.min"]
    last = found.swings[-1]
    assert last.width is None
    assert (last.high.status, last.high.objective, last.high.counts) == ("infeasible", None, {})
    assert last.high.reason == "no plan meets every limit"
    assert last.low.counts
