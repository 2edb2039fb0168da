"""The table of limits is complete: each is a row, a lever, a check, a cell, or says why not."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatch
from functools import cache
from typing import get_args

import pytest
from pydantic import BaseModel

from planner import api
from planner.case import resolve
from planner.case.model import BillItem, Rates
from planner.case.money import SUMS
from planner.case.suitability import missing_figure
from planner.errors import InputError, VerificationError
from planner.figures import FIGURES, OBJECTIVES, STATED, Objective
from planner.inputs import Inputs, changed, value_at
from planner.levers import levers
from planner.limits import (
    BY_NAME,
    LIMITS,
    NO_LIMITS,
    Limit,
    path_of,
)
from planner.optimizer.elastic import can_be_missed
from planner.schema import problem as schema
from planner.schema.plan import Plan
from planner.verifier import verify
from planner.workbook import write
from planner.workbook.edits import Draft, EditError, set_limit
from tests.optimizer.limited import everything_limited
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure

PARTS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("site", schema.Site), ("budget", schema.Budget), ("targets", schema.Targets),
    ("storage", schema.Storage), ("jobs.0", schema.Job), ("items.*", schema.Quantity),
    ("policy", schema.Policy),
)  # fmt: skip
LOCAL = {
    name: "of the local level of checkpoints"
    for name in ("local_fits", "local_lag", "local_room", "local_endurance")
}
BULK = {name: "of the bulk tier" for name in ("bulk_capacity", "bulk_read", "staging")}
BULK["burst_recovery"] = "of storage with write buffers"
NOT_NOW = {
    "blocking": "of the other way to save checkpoints",
    **LOCAL,
    **BULK,
    "rule_read": "of a vendor's rule",
    "rule_write": "of a vendor's rule",
    "gpu_types": "where the user asks for a number of types",
    "exact_families": "a number of families that is asked for exactly is given up, not moved",
}
WITHOUT_LEVER = {
    "drain_fits": "follows from interval, stall and bandwidth",
    "endurance": "follows from products",
    "replica_fits": "follows from the parallelism, which has levers of its own",
    **NOT_NOW,
}
TRY = "give {} a value in everything_limited() of tests/optimizer.limited.py"


def leaves(model: type[BaseModel], prefix: str) -> Iterator[str]:
    """Yield the path of every field of a part of a problem that holds no further part."""
    for name, field in model.model_fields.items():
        path, kinds = f"{prefix}.{field.alias or name}", [field.annotation]
        kinds += get_args(field.annotation)
        parts = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        for part in parts:
            yield from leaves(part, path)
        if not parts:
            yield path


@pytest.mark.parametrize(("prefix", "model"), PARTS)
def test_each_field_is_a_limit_or_says_why_not(prefix: str, model: type[BaseModel]) -> None:
    paths = {limit.path for limit in LIMITS}
    for path in leaves(model, prefix):
        reasons = [why for place, why in NO_LIMITS.items() if fnmatch(path, place)]
        missing = f"{path} is neither in LIMITS nor in NO_LIMITS of planner/limits.py"
        assert path in paths or any(reasons), missing


def test_each_limit_has_its_place_in_the_file() -> None:
    for limit in LIMITS:
        if limit.path and "*" not in limit.path:
            value_at(everything(), limit.path)  # a KeyError where the problem has no such place


@cache
def everything() -> Inputs:
    request = everything_limited()
    request.job["gpus"] |= {"max_types": 1}
    request.checkpoint["interval"] = {"policy": "optimal", "min": "60 s", "max": "4 h"}
    return inputs_of(request.case())


@cache
def solved() -> Plan:
    return api.solve_inputs(everything(), explain=False)


SINGLE = [limit for limit in LIMITS if "*" not in limit.name]


@pytest.mark.parametrize("limit", SINGLE, ids=lambda limit: str(limit.name))
def test_each_limit_is_reported(limit: Limit) -> None:
    if limit.reported and limit.name not in ("blocking", "rule_read", "rule_write", *LOCAL, *BULK):
        report = {each.name: each for each in solved().limits}[limit.name]
        assert (report.unit, report.sense) == (limit.unit, limit.sense)
        assert report.label.startswith(limit.label)


@pytest.mark.parametrize("limit", SINGLE, ids=lambda limit: str(limit.name))
def test_each_limit_is_a_lever(limit: Limit) -> None:
    known = {lever.limit: lever for lever in levers(everything())}
    if limit.name not in WITHOUT_LEVER:
        assert limit.name in known, f"no lever: {TRY.format(limit.path)}, or say why not"
    if limit.name in known and known[limit.name].path == limit.path and limit.group != "storage":
        lever = known[limit.name]
        assert (lever.looser, lever.label) == (limit.looser, limit.demand)
        assert lever.text(lever.value or 0.0)


def test_each_elastic_limit_can_be_missed_and_no_other() -> None:
    case = resolve(everything())
    for limit in SINGLE:
        assert can_be_missed(case, limit.name) == (limit.elastic != ""), limit.name


def test_each_editable_limit_is_a_cell_and_no_other() -> None:
    book = write(solved(), io.BytesIO(), created=datetime(2026, 3, 1))
    keys = {each.of.key for each in book.inputs if each.of.kind == "limit"}
    reported = {limit.name for limit in solved().limits}
    assert {name for name in reported if name in BY_NAME and BY_NAME[name].editable} == {
        key for key in keys if key in BY_NAME
    }
    assert "weight" in keys


@pytest.mark.parametrize("limit", SINGLE, ids=lambda limit: str(limit.name))
def test_an_edit_reaches_the_file(limit: Limit) -> None:
    draft = Draft(everything(), solved(), {})
    if not limit.editable:
        with pytest.raises(EditError):
            set_limit(draft, limit.name, 7.0)
        return
    set_limit(draft, limit.name, 7.0)
    assert value_at(draft.inputs, path_of(limit.name)) == 7.0
    set_limit(draft, limit.name, None)
    assert value_at(draft.inputs, path_of(limit.name)) is None


HUNGRY = BillItem(
    id="good", vendor="V", installed=0, unit_net_usd=1.0, support_usd_per_year=1.0,
    subscription_usd_per_year=1.0, support_factor=1.0, it_power_kw=4.0, meter_kw=6.0,
    energy_kw=5.0, liquid_kw=1.0, stated=dict.fromkeys(STATED, 1.0), spare_share=0.0, pack=1,
    min_order=0, stock=None,
)  # fmt: skip


@pytest.mark.parametrize("figure", SUMS)
def test_a_sum_over_the_bill_needs_what_it_is_made_of(figure: str) -> None:
    """What the table of figures says it needs is what its value hangs on."""
    left = {name: 0.0 if row.follows_draw else 1.0 for name, row in STATED.items()}
    fed = replace(HUNGRY, it_power_kw=0.0, meter_kw=0.0, energy_kw=0.0, liquid_kw=0.0, stated=left)
    paid, free = Rates(1.0, 1.0, 1.0, 1.0), Rates(0.0, 0.0, 0.0, 0.0)

    def value(item: BillItem, rates: Rates) -> float:
        return sum(part.adds(item, rates) for part in SUMS[figure])

    hangs = {"draw": value(HUNGRY, paid) != value(fed, paid),
             "term": value(HUNGRY, paid) != value(HUNGRY, free)}  # fmt: skip
    assert {what for what, there in hangs.items() if there} == set(FIGURES[figure].needs)


def lightest(monkeypatch: pytest.MonkeyPatch, unknown: str = "") -> Inputs:
    """Return a problem that asks for the least weight, of items that state theirs but one."""
    asked = Objective("weight", FIGURES["weight_kg"], "minimize", "weight")
    monkeypatch.setitem(OBJECTIVES, "weight", asked)
    request = everything_limited()
    for item in request.items:
        if item["category"] not in STATED["weight_kg"].none_of and item["id"] != unknown:
            item.setdefault("consumes", {})["weight"] = figure("130 kg")
    inputs = inputs_of(request.case())
    least = schema.Objective.model_construct(minimize="weight", indifference=0.0)
    problem = inputs.problem.model_copy(update={"objective": least})
    return replace(inputs, problem=problem)


def test_what_is_to_be_least_must_be_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """What catalogs do not state counts as nothing, and would win."""
    inputs = lightest(monkeypatch)
    assert missing_figure(inputs.item("box"), inputs) is None
    plan = api.solve_inputs(inputs, explain=False)
    assert plan.totals is not None
    assert plan.objective.value == plan.totals.weight_kg > 0
    inputs = lightest(monkeypatch, "box")
    assert missing_figure(inputs.item("box"), inputs) == "not known: weight"
    assert ("box", "not known: weight") in resolve(inputs).not_considered
    companion = next(line.sku for line in plan.lines if line.section == "Network")
    with pytest.raises(InputError, match="does not state what is to be least, weight") as refused:
        resolve(lightest(monkeypatch, companion))
    assert "give consumes.weight in a catalog of your own" in str(refused.value)


def test_the_verifier_weighs_by_itself() -> None:
    plan, weight = solved(), next(each for each in solved().limits if each.name == "weight")
    assert weight.value > 0
    wrong = weight.model_copy(update={"value": weight.value + 1.0})
    others = tuple(wrong if each is weight else each for each in plan.limits)
    with pytest.raises(VerificationError, match=r"limits\.weight\.value"):
        verify(everything(), plan.model_copy(update={"limits": others}))
    with pytest.raises(VerificationError, match="weight: broken limit"):
        verify(changed(everything(), "site.weight_limit", weight.value - 1.0), plan)
