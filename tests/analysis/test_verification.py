"""A plan file that was changed is caught by its readers; `planner verify` tells what is wrong."""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path
from typing import Any

import pytest

import planner.analysis.verification as study
from planner.analysis.verification import (
    PlanFile,
    assembly_faults,
    is_repeatable,
    open_plan,
    read_plan,
    search_faults,
)
from planner.case import resolve
from planner.inputs import inputs_to_text
from planner.loader import load
from planner.optimizer import Certificate, optimise
from planner.optimizer.proof import SecondProof
from planner.plan import assemble
from planner.report import exports
from planner.report.exports import attach_inputs
from planner.schema.analysis import Check, CheckResult, Verification
from planner.schema.plan import Plan
from planner.verifier import faults
from tests.world.commands import ran
from tests.world.files import FILES
from tests.world.solved import write_plan

Step = str | int
Where = tuple[Step, ...]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small problem with its plan beside it."""
    folder = tmp_path_factory.mktemp("verified")
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    write_plan(folder / "problem.plan.json", folder / "problem.yaml")
    return folder


@pytest.fixture(scope="module")
def file(folder: Path) -> Path:
    return folder / "problem.plan.json"


def put(document: Any, where: Where, value: Any) -> bytes:
    """Return the document as JSON with one value changed."""
    changed = json.loads(json.dumps(document))
    part = changed
    for step in where[:-1]:
        part = part[step]
    assert part[where[-1]] != value
    part[where[-1]] = value
    return json.dumps(changed).encode()


def test_every_reader_refuses(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad.plan.json"
    bad.write_bytes(put(json.loads(file.read_bytes()), ("totals", "racks"), 70))
    for words in (("compare", str(file)), ("simulate", "--replications", "2")):
        done = ran(*words, str(bad))
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1 and "the plan does not hold: totals.racks" in done.err
        assert [path.name for path in tmp_path.iterdir()] == ["bad.plan.json"]


UNREADABLE: dict[str, tuple[Where, Any, str]] = {
    "no inputs": (("inputs",), None, "inputs: the plan does not carry what it was made from"),
    "damaged inputs": (("inputs",), "eJx", "inputs: the plan does not carry what it was made"),
    "other inputs": (("inputs",), exports.pack_text(b"{}"), "inputs: the inputs cannot be read"),
    "another version": (("schema_version",), 99, "a plan of version 99, this planner reads 2"),
    "no number": (("totals", "racks"), float("nan"), "totals.racks: the file holds no plan of th"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_checked_is_refused(case: str, file: Path, tmp_path: Path) -> None:
    where, value, said = UNREADABLE[case]
    path = tmp_path / "x.plan.json"
    path.write_bytes(put(json.loads(file.read_bytes()), where, value))
    for command in (("compare", str(file), str(path)), ("verify", str(path))):
        done = ran(*command)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert said in done.err


def test_one_value_given_twice_is_refused_whatever_reads_it(file: Path, tmp_path: Path) -> None:
    """The last one held, so a reader that takes the first saw another plan than was verified."""
    lines = file.read_text("utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if '"quantity":' in line)
    planted = [*lines[:at], '"quan\\u0074ity": 1,', *lines[at:]]
    path = tmp_path / "x.plan.json"
    path.write_text("\n".join(planted), "utf-8")
    for command in ("verify", "simulate"):
        done = ran(command, str(path))
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "x.plan.json: duplicate key 'quantity'" in done.err


def test_a_file_cut_off_names_its_line(file: Path, tmp_path: Path) -> None:
    data = file.read_bytes()
    cut = tmp_path / "cut.plan.json"
    cut.write_bytes(data[:2000])
    done = ran("verify", str(cut))
    line = data[:2000].count(b"\n") + 1
    assert done.code == 2 and re.search(rf"cut\.plan\.json:{line}: this is no JSON: ", done.err)
    marked = tmp_path / "marked.plan.json"
    marked.write_bytes(codecs.BOM_UTF8 + data)
    assert read_plan(marked) == read_plan(file)


# The command.


def verified(path: Path, *more: str) -> tuple[int, Verification]:
    done = ran("verify", str(path), "--json", *more)
    return done.code, Verification.model_validate_json(done.out)


def check(found: Verification, name: str) -> Check:
    return next(each for each in found.checks if each.name == name)


def test_a_plan_that_holds(file: Path) -> None:
    code, found = verified(file)
    assert (code, found.result, found.solver) == (0, "holds", "cbc")
    assert [each.result for each in found.checks] == ["holds"] * 5
    plan = read_plan(file)
    assert found.bound == pytest.approx(plan.objective.best, rel=1e-5)
    assert check(found, "catalogs").text.endswith("problem.yaml and what it names are unchanged")


def test_a_plan_that_does_not_hold(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.plan.json"
    path.write_bytes(put(json.loads(file.read_bytes()), ("totals", "racks"), 70))
    code, found = verified(path)
    assert (code, found.result) == (3, "fails")
    assert check(found, "file").findings == (
        "totals: not as planner wrote it; the checksum differs",
    )
    assert check(found, "figures").findings[0].startswith("totals.racks: plan says 70")
    assert check(found, "limits").result == "not_checked"
    assert check(found, "bound").text == "not solved again: the plan does not hold as it is"


def moved(file: Path, folder: Path, **texts: str) -> Path:
    """Return a copy of the plan in a folder with the problem's files, some of them changed."""
    for name, text in FILES.items():
        (folder / name).write_text(texts.get(name.split(".")[0], text), "utf-8")
    (folder / "problem.plan.json").write_bytes(file.read_bytes())
    return folder / "problem.plan.json"


def test_prices_that_are_others_now_are_named(file: Path, tmp_path: Path) -> None:
    price = next(line.unit_list_usd for line in read_plan(file).lines if line.unit_list_usd)
    book = FILES["book.yaml"]
    old = next(text for text in (f"{price / 1e3:g} kUSD", f"{price:g} USD") if text in book)
    path = moved(file, tmp_path, book=book.replace(old, "123456 USD"))
    code, found = verified(path, "--no-solve")
    assert code == 3
    assert check(found, "catalogs").text == "problem.yaml and what it names say otherwise now"
    assert any("unit_list_usd" in text for text in check(found, "catalogs").findings)
    assert check(found, "figures").result == "holds"


def test_inputs_that_are_not_those_of_unchanged_files_are_told(
    file: Path, folder: Path, tmp_path: Path
) -> None:
    """A plan made from other prices under the name, and the digest, of the files beside it."""
    inputs = load(folder / "problem.yaml")
    carried = json.loads(inputs_to_text(inputs))
    sku = next(iter(carried["prices"]))
    carried["prices"][sku]["note"] = "another word"
    path = moved(file, tmp_path)
    path.write_text(attach_inputs(read_plan(file), json.dumps(carried).encode()).model_dump_json())
    code, found = verified(path, "--no-solve")
    assert (code, check(found, "catalogs").result) == (3, "fails")
    assert "the plan carries others" in check(found, "catalogs").text


def test_a_plan_that_is_not_the_best_is_found_out(folder: Path, tmp_path: Path) -> None:
    """Every figure agrees, the checksums too: a worse plan under a bound that nobody proved."""
    inputs = load(folder / "problem.yaml")
    less = load(folder / "problem.yaml", settings=("items.gpu_box.max=32",))
    worse = optimise(resolve(less))
    forged = Certificate("optimal", worse.operation, worse.value, worse.value, 0.0)
    plan = assemble(inputs, resolve(inputs), forged, solver="highs", gap=2e-6)
    assert not faults(inputs, plan)
    path = tmp_path / "x.plan.json"
    path.write_text(attach_inputs(plan, inputs_to_text(inputs)).model_dump_json())
    code, found = verified(path)
    assert code == 3
    (wrong,) = check(found, "bound").findings
    assert wrong.startswith("status: optimal, best value ") and ", yet a plan is worth " in wrong


# plan | answer of the other solver | result
ANSWERS: list[tuple[str, SecondProof, CheckResult]] = [
    ("optimal", SecondProof(None, 1e9, (), 1), "fails"),
    ("optimal", SecondProof(None, None, ("a",), 1), "not_checked"),
    ("infeasible", SecondProof(None, None, (), 1), "holds"),
    ("infeasible", SecondProof(None, None, ("a",), 1), "not_checked"),
    ("infeasible", SecondProof(None, 1.0, (), 1), "fails"),
]


def test_every_answer_of_the_other_solver_is_told(
    folder: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = tmp_path / "x.plan.json"
    write_plan(none, folder / "problem.yaml", "jobs.0.gpus.min=100000")
    for status, answer, result in ANSWERS:
        monkeypatch.setattr(study, "prove_again", lambda *_, _answer=answer, **__: _answer)
        path = file if status == "optimal" else none
        found = study.verify(path)
        assert isinstance(found, Verification)
        assert check(found, "bound").result == result, (status, answer)


# Plans that somebody changed and gave new checksums: found by writing the plan again.


PROBLEMS = sorted((Path(__file__).parents[2] / "problems").glob("*.yaml"))
HALL = Path(__file__).parents[2] / "problems" / "10MW.yaml"


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> PlanFile:
    file = tmp_path_factory.mktemp("hall") / "10MW.plan.json"
    write_plan(file, HALL)
    return open_plan(file)


def changed(opened: PlanFile, where: Where, value: Any) -> PlanFile:
    """Return the plan file with one part changed, and its checksums made again."""
    document = json.loads(opened.plan.model_dump_json())
    plan = Plan.model_validate_json(put(document, where, value))
    again = open_plan(attach_inputs(plan, opened.carried.encode()))
    assert again.changes == ()
    return again


ASSEMBLED: list[tuple[Where, Any]] = [
    (("assumptions", 0, "value"), "1 %"),
    (("assumptions",), []),
    (("warnings", 3), "all prices are quotes"),
    (("not_counted",), []),
    (("not_considered",), {}),
    (("description",), "as ordered"),
    (("lines", 0, "price", "confidence"), "high"),
    (("lines", 0, "notes"), ["free of charge"]),
    (("storage_options", "options", 0, "beside_usd"), 1.0),
    (("storage_options", "options", 1, "low_usd"), 1.0),
    (("storage_options", "options", 0, "sure_usd"), 1.0),
]
SEARCHED: list[tuple[Where, Any]] = [
    (("objective", "best_capex_usd"), 9e9),
    (("provenance", "iterations"), 1),
]


@pytest.mark.parametrize(("where", "value"), ASSEMBLED, ids=str)
def test_texts_that_follow_from_the_decisions(hall: PlanFile, where: Where, value: Any) -> None:
    tampered = changed(hall, where, value)
    found = assembly_faults(tampered.inputs, tampered.plan)
    assert found and all(each.startswith(str(where[0])) for each in found)


@pytest.mark.parametrize(("where", "value"), SEARCHED, ids=str)
def test_figures_that_follow_from_the_search(hall: PlanFile, where: Where, value: Any) -> None:
    tampered = changed(hall, where, value)
    assert faults(tampered.inputs, tampered.plan) or is_repeatable(tampered.plan)
    found = search_faults(tampered.inputs, tampered.plan)
    assert found and all(each.startswith(str(where[0])) for each in found)


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: path.stem)
def test_a_plan_as_written_is_no_suspect(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.plan.json"
    write_plan(file, path)
    opened = open_plan(file)
    assert assembly_faults(opened.inputs, opened.plan) == ()
    assert is_repeatable(opened.plan) == (opened.plan.status == "optimal")
    assert not is_repeatable(opened.plan) or search_faults(opened.inputs, opened.plan) == ()


def test_verify_tells_of_emptied_warnings_and_claims_no_signature(
    hall: PlanFile, tmp_path: Path
) -> None:
    file = tmp_path / "x.plan.json"
    emptied = changed(hall, ("warnings",), [])
    file.write_text(attach_inputs(emptied.plan, hall.carried.encode()).model_dump_json())
    done = ran("verify", str(file), "--no-solve")
    assert done.code == 3
    assert "checksums agree (no signature)" in done.out
    assert "warnings: 0 entries, assembled again" in done.out
