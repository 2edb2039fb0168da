"""What must change nothing in a whole bill: the order of catalogs, leftovers, a second run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

from planner import shipped
from planner.schema.plan import Plan
from planner.schema.prices import Price
from tests.world.catalog import figures, hardware, inputs_of, part, switch
from tests.world.known_plans import everything
from tests.world.solved import solve


def content(plan: Plan) -> dict[str, object]:
    """Return what a plan says, without where it comes from and what it could not use."""
    return plan.model_dump(exclude={"provenance", "not_considered", "objective"})


def test_order_in_the_catalogs_is_nothing() -> None:
    inputs, random = everything().inputs, Random(0)
    items, families = list(inputs.items), list(inputs.families)
    random.shuffle(items)
    random.shuffle(families)
    prices = dict(random.sample(list(inputs.prices.items()), len(inputs.prices)))
    shuffled = replace(inputs, items=tuple(items), families=tuple(families), prices=prices)
    assert content(solve(shuffled)) == content(everything().plan)


def test_what_no_problem_names_changes_nothing() -> None:
    """Better and cheaper companions are on offer."""
    named = {
        "a_better": switch("infiniband", ("800 Gbit/s", 512, None)),
        "z_better": switch("ethernet", ("800 Gbit/s", 512, None)),
        "free_rack": part("rack"), "free_cable": part("cable"),
        "free_suite": part("software", licence={"per": "gpu"}),
        "free_pump": part("cdu", provides=figures(cooling="9 kW")),
    }  # fmt: skip
    inputs = inputs_of(items=named | hardware())
    free = {"list": "0 USD", "date": "2026-03", "source": "sheet", "confidence": "medium"}
    given = {name: Price.model_validate(free) for name in named}
    more = replace(inputs, prices={**given, **inputs.prices})
    assert content(solve(more)) == content(everything().plan)


def test_the_same_input_gives_the_same_bytes() -> None:
    again = solve(everything().inputs)
    assert again.model_dump_json() == everything().plan.model_dump_json()


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
