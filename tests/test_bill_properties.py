"""What must change nothing in a whole bill: the order of catalogs, leftovers, a second run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

from planner import shipped
from planner.inputs import Inputs
from planner.schema.plan import Plan
from tests.optimizer.cases import FIBRE, companion, furnish, group, switch
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure
from tests.world.requests import Request, gpu_system, price, store
from tests.world.solved import solve

Change = Callable[[Request], None]


def small(*changes: Change) -> Inputs:
    """Return a whole bill with two of everything that is chosen, after some changes."""
    request = furnish(Request(maximize="useful_gpus"))
    request.items += [gpu_system("other", 8, "9 kW"), store("vault", "safe", draw="4 kW")]
    request.items[-2]["ports"] = {**request.items[0]["ports"]}
    request.items[-1]["ports"] = request.items[1]["ports"]
    request.families.append({"id": "safe", "vendor": "Gamma", "name": "safe"})
    request.prices |= {"other": price("140000"), "vault": price("12000")}
    request.site |= {
        "it_power": "90 kW", "racks": 12, "pue": {"air": 1.5, "liquid": 1.2},
        "feeds": {"count": 3, "power": "60 kW", "redundancy": "N+1"},
    }  # fmt: skip
    request.site["cooling"] |= {"air_limit": "70 kW", "liquid_limit": "40 kW"}
    request.storage["tolerate_down"] = 1
    request.job["gpus"] = {"hot_spares": 1}
    request.checkpoint["interval"] = {"policy": "optimal", "min": "60 s", "max": "4 h"}
    request.prices["fibre"] |= {"pack": 10, "stock": 400, "lead_time": "4-6 weeks"}
    request.more |= {
        "budget": {"capex": "0.9 MUSD", "tco": "1.6 MUSD"},
        "term": {"years": 4, "electricity": "0.1 USD/kWh", "discount_rate": 0.08},
        "spares": {"cable": 0.05, "switch": 0.02},
        "targets": {"max_lead_time": "60 days"},
    }  # fmt: skip
    for change in changes:
        change(request)
    return inputs_of(request.case())


@cache
def plain() -> Plan:
    plan = solve(small(), explain=False)
    assert plan.status == "optimal"
    assert {line.section for line in plan.lines} > {"Network", "Optics & cables", "Racks & power"}
    return plan


def content(plan: Plan) -> dict[str, object]:
    """Return what a plan says, without where it comes from and what it could not use."""
    return plan.model_dump(exclude={"provenance", "not_considered", "objective"})


def test_order_in_the_catalogs_is_nothing() -> None:
    inputs, random = small(), Random(0)
    items, families = list(inputs.items), list(inputs.families)
    random.shuffle(items)
    random.shuffle(families)
    prices = dict(random.sample(list(inputs.prices.items()), len(inputs.prices)))
    shuffled = replace(inputs, items=tuple(items), families=tuple(families), prices=prices)
    assert content(solve(shuffled, explain=False)) == content(plain())


def leftovers(request: Request) -> None:
    """Offer better and cheaper companions that the problem does not name."""
    cooling = {"cooling": figure("9 kW")}
    for item in (
        switch("a_better", "infiniband", group(512, 800, FIBRE)),
        switch("z_better", "ethernet", group(512, 800)),
        companion("free_rack", "rack"),
        companion("free_cable", "cable"),
        companion("free_suite", "software", licence={"per": "gpu"}),
        companion("free_pump", "cdu", provides=cooling),
    ):
        request.items.insert(0, item)
        request.prices[item["id"]] = price("0")


def test_what_no_problem_names_changes_nothing() -> None:
    assert content(solve(small(leftovers), explain=False)) == content(plain())


def test_the_same_input_gives_the_same_bytes() -> None:
    first, second = (solve(small(), explain=False) for _ in range(2))
    assert first.model_dump_json() == second.model_dump_json() == plain().model_dump_json()


# The same problem gives the same bytes: whichever machine, language, time zone and folder.


PROBLEM = shipped.problem_files()["full_bill"]
MAIN = "from planner.cli import main; main()"
SOLVE = "solve hall.yaml --also bill.csv,bill.json -o out"
COMMAND = f"umask {{}} && exec '{sys.executable}' -c '{MAIN}' {SOLVE}"
SETTINGS = (
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"},
    {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "LC_ALL": "POSIX", "LANG": "de_DE"},
)


def test_a_plan_is_the_same_everywhere(tmp_path: Path) -> None:
    made = []
    for place, umask, setting in zip(("a", "b/c d"), ("022", "077"), SETTINGS, strict=True):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        shutil.copy(PROBLEM, folder / "hall.yaml")
        done = subprocess.run(
            COMMAND.format(umask), shell=True, cwd=folder, check=True, capture_output=True,
            env={**os.environ, **setting},
        )  # fmt: skip
        files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
        ends = {name.partition(".")[2] for name in files}
        assert ends >= {"plan.json", "xlsx", "bill.csv", "bill.json"}
        made.append({"screen": done.stdout, **files})
    first, other = made
    assert [name for name in first if first[name] != other.get(name)] == []
