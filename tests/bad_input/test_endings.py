"""Sound input that has no plan, or none in time: the screen and the exit code say so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bad_input.conftest import HallRunner
from tests.world.files import SOLVE

FULL = Path("/dev/full")
START = "from planner.cli import main; main()"


@pytest.mark.parametrize(
    ("setting", "limit", "path"),
    [
        ("site.facility_power=3 kW", "facility power 3 kW", "site.facility_power"),
        ("budget.capex=0 USD", "capital budget 0 USD", "budget.capex"),
        ("jobs.0.restore={max_time: 1 ms}", "restore time 0.001 s", "jobs.0.restore.max_time"),
        ("targets={min_gpus: 1000}", "minimum GPUs in use 1000", "targets.min_gpus"),
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
    change = re.search(rf"(raise|lower) `{path}` from [^`]*? to ([0-9.]+( [kM]?[A-Zs]+)?);", said)
    assert change is not None, said
    repaired = f"{SOLVE} --set '{setting}' --set '{path}={change[2]}'"
    assert run_in_hall(repaired).exit_code == 0


def test_no_plan_in_time(run_in_hall: HallRunner) -> None:
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
def test_a_screen_that_takes_no_more() -> None:
    with FULL.open("w") as full:
        command = [sys.executable, "-c", START, "check", "--schema", "problem"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "planner: cannot write the output: no space left on device\n"


def test_a_pipe_whose_reader_has_left() -> None:
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
