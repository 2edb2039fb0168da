"""`planner init`: a problem of one's own from a few answers, complete and ready to solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from planner import api
from planner.commands.new_problem import (
    QUESTIONS,
    Answers,
    ask,
    pipeline_of,
    question_of,
    write_problem,
)
from planner.commands.problem import report_findings
from planner.errors import InputError
from planner.loader import load
from tests.world.commands import Ran, ran

Runner = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runner:
    """Run commands in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return ran


ASKED = (
    "--name", "Three MW", "--power", "3 MW", "--racks", "24", "--rack-power", "130 kW",
    "--budget", "60 MUSD", "--model", "405 B", "--tokens", "15 T", "--vendors", "ddn, VAST",
    "--own", "nvidia_dgx_h100=8",
)  # fmt: skip
LEAST = Answers(power="3 MW", racks="24", rack_power="45 kW", parameters="70 B")


def test_answers_become_a_problem_that_is_solved(run: Runner, tmp_path: Path) -> None:
    said = run("init", *ASKED)
    assert said.code == 0, said.err
    assert said.err == "wrote Three-MW.yaml; next: planner solve Three-MW.yaml\n"
    assert [path.name for path in tmp_path.iterdir()] == ["Three-MW.yaml"]
    problem = load(tmp_path / "Three-MW.yaml").problem
    assert problem.name == "Three MW"
    assert problem.site.facility_limit_kw == 3000.0
    assert problem.site.rack_count == 24
    assert problem.site.rack is not None and problem.site.rack.power_kw == 130.0
    assert problem.budget.capex_usd == 60e6
    assert problem.job.parameters == 405e9
    assert problem.job.training.tokens == 15e12
    assert problem.items["nvidia_dgx_h100"].installed == 8
    families = problem.consider.storage_families
    assert families and {name.split("_")[0] for name in families} == {"ddn", "vast"}
    plan = api.solve(tmp_path / "Three-MW.yaml", options=api.Options(explain=False))
    assert plan.status == "optimal"
    assert {line.vendor for line in plan.lines if line.section == "Storage"} <= {"DDN", "VAST Data"}


def test_everything_asked_for_has_a_flag_and_nothing_is_hidden(tmp_path: Path) -> None:
    said: list[str] = []

    def prompt(words: str, otherwise: str) -> str:
        said.append(words)
        given = {"power": "3 MW", "racks": "24", "rack_power": "45 kW", "parameters": "70 B"}
        name = next(name for name, question in QUESTIONS.items() if question.words == words)
        return given.get(name, otherwise)

    answers = ask(Answers(budget="40 MUSD"), prompt, pytest.fail)
    assert len(said) == len(QUESTIONS) - 1  # what a flag gave is not asked again
    assert answers.budget == "40 MUSD"
    assert (answers.pue, answers.vendors, answers.owned) == ("1.25", None, ())
    path = write_problem(answers, tmp_path, force=False)
    written = yaml.safe_load(path.read_text("utf-8"))
    problem = load(path).problem
    # What decides most of a plan is written out and not left to a default.
    for section in ("site", "budget", "term", "catalogs", "prices", "consider", "storage", "jobs",
                    "objective", "network", "spares"):  # fmt: skip
        assert section in written, section
    for field in ("mode", "stall", "writers", "max_overlap", "interval", "keep_last"):
        assert field in written["jobs"][0]["checkpoint"], field
    assert problem.job.training.tokens is None
    assert not problem.items
    assert "{" not in path.name


def test_an_answer_that_cannot_be_read_is_asked_again_alone(tmp_path: Path) -> None:
    given = {"power": ["3", "3 MW"], "racks": ["", "24"], "rack_power": ["45 kW"],
             "parameters": ["70", "70 B"], "vendors": ["Nobody"], "owned": ["H100=8"]}  # fmt: skip
    flags = {question.words: name for name, question in QUESTIONS.items()}
    told: list[str] = []
    asked: list[str] = []

    def prompt(words: str, otherwise: str) -> str:
        asked.append(flags[words])
        return given[flags[words]].pop(0) if given.get(flags[words]) else otherwise

    answers = ask(Answers(), prompt, told.append)
    assert [text.split(":")[0] for text in told] == ["--power", "--racks", "--model"]
    assert len(asked) == len(QUESTIONS) + 3
    given |= {"vendors": ["DDN"], "owned": ["nvidia_dgx_h100=8, nvidia_dgx_h200=1"]}
    for name in ("owned", "vendors"):
        with pytest.raises(InputError) as error:
            write_problem(answers, tmp_path, force=False)
        assert question_of(error.value.findings[0]) == name
        asked.clear()
        answers = ask(replace(answers, **{name: None}), prompt, told.append, (name,))
        assert asked == [name]
    text = write_problem(answers, tmp_path, force=False).read_text("utf-8")
    assert "  nvidia_dgx_h100: {installed: 8}   # systems, 64 GPUs\n" in text
    with pytest.raises(InputError) as error:
        write_problem(answers, tmp_path, force=False)
    assert question_of(error.value.findings[0]) == "name"


@pytest.mark.parametrize(
    ("parameters", "stages"), [(8e9, 1), (64e9, 1), (70e9, 2), (405e9, 8), (1e12, 16), (1e15, 64)]
)
def test_a_replica_has_room_for_its_state(parameters: float, stages: int) -> None:
    assert pipeline_of(parameters) == stages


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("--power", "3 MW"),
            "not given: --racks, --rack-power, --model; for example planner init",
        ),
        (("--power", "3 apples"), "--power: 'apples' in '3 apples' is not a unit"),
        (("10MW", "--power", "3 MW"), "an example (10MW) is copied as it is"),
        ((*ASKED, "--own", "nvidia_dgx_h100"), "--own: 'nvidia_dgx_h100' is no item with a number"),
        ((*ASKED, "--own", "nvidia_dgx_h10=2"), "nvidia_dgx_h100"),
        (
            (*ASKED, "--own", "H100=64"),
            "no item 'H100'; did you mean 'nvidia_dgx_h100'? Units are whole systems, here of 8",
        ),
        ((*ASKED, "--own", "ddn=1"), "did you mean 'ddn_ai400x2' or"),
        ((*ASKED, "--own", "-=1"), "--own: no item '-'"),
        ((*ASKED, "--model", "405"), "'405' has no unit; write '405 B'"),
        ((*ASKED, "--tokens", "15"), "'15' has no unit; write '15 T'"),
        ((*ASKED, "--vendors", "Nobody"), "--vendors: nobody is called 'Nobody'"),
        ((*ASKED, "--prices", "none.yaml"), "none.yaml"),
        ((*ASKED, "--name", "///"), "--name: no file can be named '///'"),
        ((*ASKED, "--racks", "0"), "--racks: 0 is nothing to plan for"),
    ],
)
def test_wrong_answers(run: Runner, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    said = run("init", *arguments)
    assert said.code == 2
    assert says in said.err
    assert ".draft" not in said.err
    assert len(said.err.splitlines()) == 1
    assert run("init", *arguments, "-o", "new").code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = write_problem(LEAST, tmp_path, force=False)
    with pytest.raises(InputError, match="the file is there already"):
        write_problem(LEAST, tmp_path, force=False)
    assert write_problem(LEAST, tmp_path, force=True) == path


def test_what_is_left_of_an_example_is_told(run: Runner, tmp_path: Path) -> None:
    run("init", "10MW")
    path = tmp_path / "10MW.yaml"
    path.write_text(path.read_text("utf-8").replace("pue: 1.25", "pue: 1.1"), "utf-8")
    assert "more: --full" in run("check", "10MW.yaml", "--against", "10MW").out
    said = run("check", "10MW.yaml", "--against", "10MW", "--full")
    assert said.code == 0
    assert ": site.facility_power: as in 10MW: 10 MW" in said.out
    assert ": jobs.0.checkpoint.stall: as in 10MW: 5 s" in said.out
    assert ": site.pue:" not in said.out
    text, faulty = report_findings(path, (), None, against="10MW", as_json=True)
    assert "as-shipped" in text and not faulty
    assert run("check", "10MW.yaml", "--against", "11MW").code == 2
