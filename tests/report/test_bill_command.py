"""Which files `planner solve` writes with --also and --audience, and that it writes all or none."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.bad_input.conftest import Answer, HallRunner, run, run_in_hall
from tests.world.files import SOLVE

__all__ = ["run", "run_in_hall"]  # fixtures of the tests of the command line

BOTH = "--also bill.csv,bill.json"


def solve(run_in_hall: HallRunner, options: str) -> Answer:
    return run_in_hall(f"{SOLVE} {options}")


def new(answer: Answer) -> list[str]:
    return sorted(answer.after - answer.before)


@pytest.mark.parametrize(
    ("options", "files", "message"),
    [
        ("", ["plan.json", "xlsx"], "problem.xlsx and problem.plan.json"),
        (
            f"{BOTH} --also bill.csv",
            ["bill.csv", "bill.json", "plan.json", "xlsx"],
            "problem.xlsx, problem.plan.json, problem.bill.csv and problem.bill.json",
        ),
        ("--audience customer", ["customer.xlsx"], "problem.customer.xlsx"),
        (
            f"--audience customer {BOTH}",
            ["customer.bill.csv", "customer.bill.json", "customer.xlsx"],
            "problem.customer.xlsx, problem.customer.bill.csv and problem.customer.bill.json",
        ),
        (
            "--audience partner --also bill.csv",
            ["partner.bill.csv", "partner.xlsx"],
            "problem.partner.xlsx and problem.partner.bill.csv",
        ),
    ],
)
def test_files_and_the_one_message_that_names_them(
    options: str, files: list[str], message: str, run_in_hall: HallRunner
) -> None:
    answer = solve(run_in_hall, options)
    assert answer.exit_code == 0
    assert new(answer) == [f"problem.{file}" for file in files]
    assert answer.err == f"wrote {message}\n"


def test_the_screen_is_internal_whoever_the_files_are_for(
    run_in_hall: HallRunner,
) -> None:
    internal, customer = solve(run_in_hall, ""), solve(run_in_hall, "--audience customer")
    assert internal.out == customer.out
    assert "MUSD" in customer.out
    plan = json.loads(solve(run_in_hall, "--audience customer --json").out)
    assert plan["totals"]["capex_usd"] > 0


@pytest.mark.parametrize(
    ("options", "has", "lacks"),
    [
        ("--audience customer", "unit_net", "unit_list"),
        ("--audience customer-list", "unit_list", "discount"),
        ("--audience customer-no-prices", "quantity", "unit_net"),
        ("--audience partner", "discount", "price_source"),
    ],
)
def test_prices_are_those_asked_for(
    options: str, has: str, lacks: str, run_in_hall: HallRunner, tmp_path: Path
) -> None:
    solve(run_in_hall, f"{options} --also bill.csv")
    (path,) = tmp_path.glob("problem.*.bill.csv")
    columns = path.read_text("utf-8-sig").splitlines()[0].split(",")
    assert has in columns and lacks not in columns


def test_a_plan_that_is_none_leaves_no_files(run_in_hall: HallRunner) -> None:
    for audience in ("internal", "customer"):
        answer = solve(
            run_in_hall, f"--audience {audience} {BOTH} --set 'targets={{min_gpus: 100000}}'"
        )
        assert (answer.exit_code, new(answer), answer.err) == (3, [], "")


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ("--also bill.xlsx", "--also 'bill.xlsx' is not known; one of cables, netbox, bill.csv"),
        ("--also", "--also' requires an argument"),
        ("--audience public", "'public' is not one of 'internal', 'customer', 'customer-list'"),
    ],
)
def test_wrong_words_are_one_line(options: str, wrong: str, run_in_hall: HallRunner) -> None:
    answer = solve(run_in_hall, options)
    assert (answer.exit_code, new(answer), answer.out) == (2, [], "")
    assert wrong in answer.err and answer.err.count("\n") == 1


@pytest.mark.parametrize("name", ["problem.xlsx", "problem.bill.csv", "problem.bill.json"])
def test_all_files_are_written_or_none(name: str, run_in_hall: HallRunner, tmp_path: Path) -> None:
    (tmp_path / "out" / name).mkdir(parents=True)
    answer = solve(run_in_hall, f"{BOTH} -o out")
    assert (answer.exit_code, answer.out, new(answer)) == (2, "", [])
    assert answer.err.startswith(f"planner: out/{name}: cannot write: there is a folder")


def test_files_can_be_made_again_to_the_byte(
    run_in_hall: HallRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1770000000")
    for audience in ("internal", "customer"):
        for folder in ("one", "two"):
            solve(run_in_hall, f"-q --audience {audience} {BOTH} -o {folder}")
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert len(names) == 7
    for name in names:
        one, two = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
        assert one == two, name
    with zipfile.ZipFile(tmp_path / "one" / "problem.customer.xlsx") as archive:
        assert b"2026-02-02" in archive.read("docProps/core.xml")
