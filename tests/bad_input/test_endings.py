"""Sound input that has no plan, or none found: the screen and the exit code say so."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bad_input.conftest import Answer, HallRunner
from tests.world.files import SOLVE

FULL = Path("/dev/full")
START = "from planner.cli import main; main()"


@pytest.mark.parametrize(
    ("setting", "limit", "path"),
    [
        ("budget.capex=0 USD", "capital budget 0 USD", "budget.capex"),
        ("jobs.0.restore={max_time: 1 ms}", "restore time 0.001 s", "jobs.0.restore.max_time"),
        ("jobs.0.gpus={min: 1000}", "minimum GPUs in use 1000", "jobs.0.gpus.min"),
    ],
)
def test_an_infeasible_problem_names_the_limit(
    setting: str, limit: str, path: str, run_in_hall: HallRunner
) -> None:
    answer = run_in_hall(f"{SOLVE} --set '{setting}'")
    assert (answer.exit_code, answer.err) == (3, "")
    said = " ".join(answer.out.split())
    assert "(no plan)" in said
    assert f"- {limit} (--set {setting})" in said
    assert answer.before == answer.after
    change = re.search(rf"(raise|lower) {path} from .*? to ([0-9.]+( [kM]?[A-Zs]+)?);", said)
    assert change is not None, said
    repaired = f"{SOLVE} --set '{setting}' --set '{path}={change[2]}'"
    assert run_in_hall(repaired).exit_code == 0


NO_GPUS, NO_ROOM = "no GPU system is on offer", "the site holds 0 GPUs"
NOTHING = {
    "budget.capex=1 kUSD": (2, NO_ROOM),
    "site.facility_power=3 kW": (2, NO_ROOM),
    "consider.vendors=[Boxes]": (0, ""),  # no storage: its demand is known all the same
    "consider.vendors=[Quick]": (2, NO_GPUS),
}
"""Settings with which nothing can be bought, and how `size` ends with them."""


@pytest.mark.parametrize("setting", NOTHING)
def test_no_command_breaks_where_nothing_can_be_bought(
    setting: str, run_in_hall: HallRunner, tmp_path: Path
) -> None:
    """`verify` ended in a traceback where no storage is on offer."""
    hall = f"problem.yaml --set '{setting}'"
    answer = run_in_hall(f"explain {hall}")
    assert (answer.exit_code, answer.err) == (3, "")
    assert "Infeasible" in answer.out and setting in answer.out
    answer, plan = run_in_hall(f"solve {hall} --json"), tmp_path / "none.plan.json"
    assert (answer.exit_code, answer.err) == (3, "")
    plan.write_text(answer.out)
    answer = run_in_hall(f"verify {plan.name}")
    assert (answer.exit_code, answer.err) == (0, "")
    assert "asked again: finds no plan either" in answer.out
    answer = run_in_hall(f"sweep {hall} --vary site.pue=1.1,1.2 -o out")
    assert (answer.exit_code, answer.out.count("no plan meets every limit")) == (0, 1)
    answer = run_in_hall(f"size {hall}")
    ends, said = NOTHING[setting]
    assert (answer.exit_code, said in answer.err, answer.err.count("\n")) == (ends, True, ends // 2)


def test_a_time_limit_before_any_plan_is_exit_code_4(run_in_hall: HallRunner) -> None:
    answer = run_in_hall(f"{SOLVE} --time-limit 1e-9s")
    assert (answer.exit_code, answer.err) == (4, "")
    assert "the time limit was reached before any plan was found" in answer.out
    assert answer.before == answer.after


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_check_lists_what_is_wrong_on_standard_output(
    extra: list[str], run_in_hall: HallRunner
) -> None:
    command = " ".join(["check problem.yaml --set site.pue=x", *extra])
    answer = run_in_hall(command)
    assert (answer.exit_code, answer.err) == (2, "")
    if extra:
        (finding,) = json.loads(answer.out)
        assert finding["path"] == "site.pue"
        assert finding["message"] == "cannot read 'x' as a number"
    else:
        assert answer.out.startswith("error: --set site.pue=x: site.pue: cannot read 'x'")


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_a_full_output_device_is_one_line() -> None:
    with FULL.open("w") as full:
        command = [sys.executable, "-c", START, "check", "--schema", "problem"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "planner: cannot write the output: no space left on device\n"


def test_a_closed_pipe_prints_no_error() -> None:
    command = f"{sys.executable} -c '{START}' check --schema problem | true"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert ended.stderr == ""


def test_an_interruption_that_a_library_loses_comes_again() -> None:
    script = (
        "import os, signal, time\n"
        "from planner import terminal\n"
        "terminal.catch_interrupts()\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n"  # as a library does that turns errors into its own
        "    pass\n"
        "try:\n"
        "    time.sleep(600)\n"
        "except KeyboardInterrupt:\n"
        "    terminal.interrupt_handled()\n"
        "time.sleep(1.5)\n"
        "print('once more, and then no more')\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("once more, and then no more\n", "")


# What a machine refuses, or a stranger's file breaks in a library: one line, exit code 2.


NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
NO_FORMULA = "=cmd|'/C calc'!A0"


def assert_one_line(answer: Answer, *words: str) -> None:
    assert answer.exit_code == 2, answer.err
    assert answer.err.startswith("planner: ") and answer.err.count("\n") == 1, answer.err
    assert "internal error" not in answer.err
    assert all(word in answer.err for word in words), answer.err
    assert answer.before == answer.after


def test_a_path_too_deep_is_one_line(run_in_hall: HallRunner) -> None:
    folder = "a/" * 2000
    answer = run_in_hall(f"{SOLVE} -o {folder}")
    assert_one_line(answer, "cannot write: too many folders", "choose another folder with -o")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NO_SPACE, "no space left on device"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE), "some.file"), "some.file: too many open"),
        (MemoryError(), "out of memory"),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
    ],
)
def test_an_error_of_the_system_is_one_line(
    error: Exception, said: str, run_in_hall: HallRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("planner.api.solve_with", refused)
    answer = run_in_hall(SOLVE)
    assert_one_line(answer, said)
