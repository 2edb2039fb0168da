"""Random edits of every shipped problem: LibreOffice, Excel and Python agree on what follows.

LibreOffice recalculates those of one problem of each kind; the others are as an engine that follows
Excel saves them.
"""

from __future__ import annotations

import math
import random
import re
import shutil
import zipfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest

from planner.auditor import audit
from planner.outputs.workbook.cells import InputCell, Scalar
from planner.schema.plan import LimitReport
from planner.schema.verification import Audit
from tests.audit.books import SOLVABLE, Book, Edits, book, edited
from tests.workbook.excel import cached, saved_with, shown_after, unlike
from tests.workbook.office import Cells, convert, named, needs_office, values
from tests.workbook.test_recalculation import differences
from tests.world.chosen import chosen

IN_OFFICE = ("10MW", "full_bill", "megatron_1t")
"""A hall with repair; a whole bill with racks of its own; a cluster that is there already."""
ALONE = ("megatron_1t", "gpt3_octet")
"""Problems whose bill has nothing but GPU systems and storage: every total follows a quantity."""


@dataclass(frozen=True)
class Trial:
    source: Book
    edits: Edits
    path: Path


def drawn(source: Book, rng: random.Random) -> Edits:
    """Return new values for a handful of inputs, none of which stops the job for good."""
    cells = [cell for cell in source.cells if cell.kind != "local"]
    chosen = rng.sample(cells, k=min(len(cells), rng.randint(3, 9)))
    chosen.append(rng.choice([cell for cell in cells if cell.kind == "quantity"]))
    return {(cell.kind, cell.key): _drawn(cell, rng) for cell in chosen}


def _drawn(cell: InputCell, rng: random.Random) -> Scalar:
    if cell.range.choices:
        return rng.choice(cell.range.choices)
    if cell.value is None or isinstance(cell.value, str):
        return cell.value
    value = cell.value * rng.uniform(0.8, 1.25) if cell.value else rng.uniform(0.0, 0.2)
    if cell.key == "gpus_idle":
        value = cell.value
    if cell.key == "replica_gpus":  # whole tensor groups, or the edit is refused
        value = cell.value * rng.choice((1, 2))
    if cell.range.whole:
        value = float(round(value))
        value += float(value == cell.value and cell.kind == "quantity")
    return min(max(value, cell.range.low), cell.range.high)


@pytest.fixture(scope="module")
def trials(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Trial]:
    """Return edited workbooks that LibreOffice has recalculated: those that tests ask for."""
    problems = chosen(request, "problem")
    wanted = {*ASKED, *chosen(request, "name"), *(f"{problem}-0" for problem in problems)}
    folder = tmp_path_factory.mktemp("edited")
    made: dict[str, Trial] = {}
    for name in sorted(wanted):
        problem, _, number = name.rpartition("-")
        source = book(problem)
        edits = drawn(source, random.Random(name)) if number != "0" else {}
        path = edited(source, folder / f"{name}.xlsx", edits)
        if problem not in IN_OFFICE:
            cells = {source.cell(*key): value for key, value in edits.items()}
            typed = {(cell.sheet, cell.cell): value for cell, value in cells.items()}
            path = saved_with(source.content, folder / f"{name}.saved.xlsx", typed)
        made[name] = Trial(source, edits, path)
    ours = {name: trial for name, trial in made.items() if name.rpartition("-")[0] in IN_OFFICE}
    results = convert(folder, [trial.path for trial in ours.values()])
    return made | {
        name: Trial(trial.source, trial.edits, result)
        for (name, trial), result in zip(ours.items(), results, strict=True)
    }


NAMES = [*(f"{problem}-1" for problem in SOLVABLE), f"{IN_OFFICE[0]}-0"]
"""The last is saved by LibreOffice without an edit."""
PLANTED = "10MW-1"
"""The one in which a wrong value is planted."""
ASKED = (PLANTED, *(f"{problem}-1" for problem in ALONE))
"""Those that a test needs whichever of the families are run."""


@pytest.fixture(scope="module")
def audits(trials: dict[str, Trial]) -> dict[str, Audit]:
    return {name: audit(trial.path, solve_again=False) for name, trial in trials.items()}


@pytest.mark.exhaustive(keep=2)
@needs_office
@pytest.mark.parametrize("name", NAMES)
def test_every_edit_is_read(name: str, trials: dict[str, Trial], audits: dict[str, Audit]) -> None:
    trial, found = trials[name], audits[name]
    read = {(edit.kind, edit.key): edit.after for edit in found.edits}
    expected = {
        key: value for key, value in trial.edits.items() if value != trial.source.cell(*key).value
    }
    assert set(read) == set(expected)
    for key, value in expected.items():  # spreadsheets write 15 digits
        assert read[key] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-14))


@pytest.mark.exhaustive(keep=2)
@needs_office
@pytest.mark.parametrize("problem", IN_OFFICE)
def test_every_written_value_is_what_is_recalculated(
    problem: str, trials: dict[str, Trial]
) -> None:
    trial = trials[f"{problem}-0"]
    assert differences(values(trial.source.content), values(trial.path)) == []


@pytest.mark.exhaustive(keep=2)
@needs_office
@pytest.mark.parametrize("name", NAMES)
def test_the_workbook_shows_what_python_computes(
    name: str, trials: dict[str, Trial], audits: dict[str, Audit]
) -> None:
    trial, found = trials[name], audits[name]
    shown = values(trial.path)
    assert not [cell for cell, value in shown.items() if str(value).startswith(("#", "Err:"))]
    figures = named(trial.path, shown)
    if found.edited is None and "price" in str(found.reason):
        assert figures["bom_capex_usd_flag"] == "known part"
        return
    if found.edited is None:
        assert figures["goodput"] in ("n/a", 0) or figures["gpus_in_use"] == 0
        return
    assert found.stale == ()
    assert figures["goodput"] == pytest.approx(found.edited.jobs[0].goodput, rel=1e-9)
    assert figures["bom_capex_usd"] == pytest.approx(found.sheet_capex_usd, rel=1e-12)


@pytest.mark.exhaustive(keep=2)
@needs_office
@pytest.mark.parametrize("name", NAMES)
def test_the_checks_are_those_of_the_verifier(
    name: str, trials: dict[str, Trial], audits: dict[str, Audit]
) -> None:
    found = audits[name]
    if found.edited is None:
        return
    rows = checks(values(trials[name].path))
    broken = {breach.name for breach in found.breaches}
    compared = 0
    for limit in found.edited.limits:
        if found.shortages and not _of_the_job(limit):
            continue
        value, allowed, result = rows[limit.name]
        if result == "no limit":
            continue
        compared += 1
        assert value == pytest.approx(limit.value, rel=1e-9, abs=1e-12), limit.name
        assert allowed == pytest.approx(limit.limit, rel=1e-9), limit.name
        assert str(result).startswith("OVER" if limit.name in broken else "OK"), limit.name
    assert compared


def _of_the_job(limit: LimitReport) -> bool:
    """Return whether a limit is on the job, whatever companions are listed."""
    return limit.name in (
        "overlap", "drain_fits", "blocking", "restore_time", "capacity", "ingest", "endurance",
        "replica_fits", "gpus_min", "gpus_max", "micro_batches", "min_gpus", "min_goodput",
        "min_useful_gpus", "min_useful_pflops", "max_days_to_train", "rule_read", "rule_write",
    )  # fmt: skip


def checks(cells: Cells) -> dict[str, tuple[object, object, object]]:
    """Return value, limit and result of every check by its id."""
    header = next(
        int(address[1:]) for (sheet, address), value in cells.items()
        if sheet == "Checks" and value == "Id"
    )  # fmt: skip
    columns = {
        str(value): address.rstrip("0123456789")
        for (sheet, address), value in cells.items()
        if sheet == "Checks"
        and address.endswith(str(header))
        and address[-3:].strip("ABCDEFGHIJKL") == str(header)
    }
    at = {title: columns[title] for title in ("Id", "Value", "Allowed", "Result")}
    rows = [
        int(address.removeprefix(at["Id"]))
        for sheet, address in cells
        if sheet == "Checks" and address.rstrip("0123456789") == at["Id"]
    ]
    return {
        str(cells["Checks", f"{at['Id']}{row}"]): (
            cells.get(("Checks", f"{at['Value']}{row}")),
            cells.get(("Checks", f"{at['Allowed']}{row}")),
            cells.get(("Checks", f"{at['Result']}{row}")),
        )
        for row in rows
        if row > header
    }


@pytest.mark.exhaustive(keep=2)
@needs_office
@pytest.mark.parametrize("name", [f"{problem}-1" for problem in IN_OFFICE])
def test_excel_shows_what_libreoffice_does(name: str, trials: dict[str, Trial]) -> None:
    path = trials[name].path
    shown = values(path)
    formulas = dict.fromkeys(cached(trials[name].source.content), "")
    after = {place: shown.get(place, "") for place in formulas}
    typed = (path.parents[1] / path.name).read_bytes()
    days = {place: value for place, value in after.items() if not isinstance(value, datetime)}
    assert unlike(typed, days) == []


@needs_office
def test_totals_follow_quantities(audits: dict[str, Audit]) -> None:
    """Somewhere the totals are compared after an edit of a quantity, and not only of a price."""
    seen = [
        found
        for name, found in audits.items()
        if name.startswith(ALONE) and any(edit.kind == "quantity" for edit in found.edits)
    ]
    assert seen and all(not found.shortages for found in seen if found.edited)


@needs_office
def test_a_wrong_value_in_the_file_is_caught(trials: dict[str, Trial], tmp_path: Path) -> None:
    """The control: a file with one stale value must not pass."""
    source = trials[PLANTED].path
    goodput = named(source, values(source))["goodput"]
    assert isinstance(goodput, float)
    sheet, place = next(iter(openpyxl.load_workbook(source).defined_names["goodput"].destinations))
    address = place.replace("$", "").encode()
    cell = re.compile(rb'(<c r="' + address + rb'"[^>]*>.*?<v>)' + repr(goodput).encode() + b"<")
    planted = tmp_path / "planted.xlsx"
    shutil.copy(source, planted)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(planted, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.startswith("xl/worksheets/"):
                content = cell.sub(rb"\g<1>0.5<", content)
            new.writestr(name, content)
    shown = openpyxl.load_workbook(planted, data_only=True)
    assert shown[sheet][address.decode()].value == 0.5
    found = audit(planted, solve_again=False)
    assert [each.name for each in found.stale] == ["goodput"]
    assert math.isclose(found.stale[0].computed, goodput, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("kind", "key", "value", "most"),
    [("quantity", "nvidia_gb200_nvl72", 54.0, 3072), ("figure", "replica_gpus", 128.0, 6144)],
)
def test_what_micro_batches_fill_follows_the_replicas(
    kind: str, key: str, value: float, most: int, tmp_path: Path
) -> None:
    """A micro-batch for each of 48 replicas of 64 GPUs, or of 128."""
    source = book("10MW", "jobs.0.training.scale={micro_batches: 48}")
    found = audit(edited(source, tmp_path / "edited.xlsx", {(kind, key): value}), solve_again=False)
    assert found.edited is not None
    used = found.edited.jobs[0].gpus_used
    assert ("micro_batches" in {breach.name for breach in found.breaches}) == (used > most)
    cell = source.cell(kind, key)
    shown = checks(shown_after(source.content, {(cell.sheet, cell.cell): value}))
    assert shown["micro_batches"] == (used, most, "OVER" if used > most else "OK")


def test_the_bubble_follows_the_replicas(tmp_path: Path) -> None:
    """A pipeline of 16 stages idles more than one of 8; the sheets kept the bubble of 8."""
    source = book("10MW", "jobs.0.training.scale={micro_batches: 48}")
    found = audit(
        edited(source, tmp_path / "edited.xlsx", {("figure", "replica_gpus"): 128.0}),
        solve_again=False,
    )
    assert found.edited is not None
    job, before = found.edited.jobs[0], source.plan.jobs[0]
    assert job.useful_pflops is not None and before.useful_pflops is not None
    rate = job.useful_pflops / job.useful_gpus
    assert rate < 0.95 * before.useful_pflops / before.useful_gpus
    cell = source.cell("figure", "replica_gpus")
    shown = named(source.content, shown_after(source.content, {(cell.sheet, cell.cell): 128.0}))
    pflops, gpus = (float(str(shown[name])) for name in ("useful_pflops", "useful_gpus"))
    assert math.isclose(pflops / gpus, rate, rel_tol=1e-9)
