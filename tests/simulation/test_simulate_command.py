"""The command: screen, JSON, files, what may stand beside, and every way to be wrong."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.outputs import plan_json, simulation_text
from planner.outputs.charts.model import Bars
from planner.outputs.charts.simulation import loss, timeline
from planner.schema.plan import Plan
from planner.schema.simulation import LossBudget, Simulation
from planner.sizing.goodput import goodput, goodput_loss
from planner.studies.simulation import SimulationOptions, study
from tests.world.commands import ran
from tests.world.files import FILES
from tests.world.solved import write_plan

DAY_S = 86_400.0
FEW = ("--replications", "20", "--length", "60 days")
BESIDE = """\
jobs:
  - name: side
    parameters: 7 B
    gpus: {min: 64}
    failures: llama3
    checkpoint: {stall: 2 s, interval: {policy: fixed, every: 20 min}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small problem, its plan, and a job to run beside it."""
    folder = tmp_path_factory.mktemp("simulate")
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    write_plan(folder / "small.plan.json", folder / "problem.yaml")
    (folder / "side.yaml").write_text(BESIDE, "utf-8")
    (folder / "gaps.csv").write_text("gap_h\n" + "\n".join("123456789") + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def plan(folder: Path) -> Plan:
    return plan_json.from_bytes((folder / "small.plan.json").read_bytes())


def simulated(plan: Plan, **options: object) -> Simulation:
    plain = {"replications": 40, "length_s": 120 * DAY_S, "processes": 1}
    return study(plan, SimulationOptions(**(plain | options)))  # type: ignore[arg-type]


def total(loss: LossBudget) -> float:
    return math.fsum(loss.model_dump().values())


def test_the_plan_is_what_is_simulated(plan: Plan) -> None:
    job = plan.jobs[0]
    found = simulated(plan).jobs[0]
    assert found.drain_s == pytest.approx(job.drain_s)
    assert found.restore_s == pytest.approx(job.restore_s)
    assert found.predicted == pytest.approx(job.goodput)
    assert found.planned_goodput == job.goodput
    for name, value in job.loss.model_dump().items():
        assert getattr(found.predicted_loss, name) == pytest.approx(value), name
    assert found.goodput.low <= job.goodput <= found.goodput.high
    assert found.goodput.p5 < found.goodput.mean < found.goodput.p95
    assert found.goodput.mean + total(found.loss) == pytest.approx(1.0, abs=1e-12)
    assert found.interruptions_per_year == pytest.approx(365 * DAY_S / job.mtti_s, rel=0.05)


def test_other_intervals_are_ranked_and_their_limits_named(plan: Plan) -> None:
    job = plan.jobs[0]
    found = simulated(plan, interval_s=4 * job.interval_s)
    assert [round(each.factor, 2) for each in found.intervals] == [
        0.25, 0.35, 0.5, 0.71, 0.84, 1.0, 1.19, 1.41, 2.0, 2.83, 4.0,
    ]  # fmt: skip
    assert found.better
    assert found.best is not None
    best = found.intervals[found.best]
    assert best.low > 0
    assert best.factor < 0.6
    screen = " ".join(simulation_text.render(found).split())
    assert "would have been better, by" in screen
    assert "The plan states" in screen
    own = next(each for each in found.intervals if each.factor == 1.0)
    assert (own.difference, own.low, own.high) == (0.0, 0.0, 0.0)
    tight = job.model_copy(update={"max_overlap": job.drain_s / job.interval_s})
    limited = simulated(plan.model_copy(update={"jobs": (tight,)}))
    shorter = [each for each in limited.intervals if each.factor < 0.99]
    assert all("max_overlap" in each.breaks for each in shorter)
    assert not any(each.breaks for each in limited.intervals if each.factor >= 1.0)
    assert limited.best is not None
    assert limited.intervals[limited.best].factor >= 1.0


def test_at_the_best_interval_no_other_is_better(plan: Plan) -> None:
    found = simulated(plan)
    assert not found.better
    assert "No other interval" in simulation_text.render(found)


def test_the_formula_is_told_how_far_it_is_off(plan: Plan) -> None:
    found = simulated(plan, failures="weibull:0.5", planned="10 days,6 h", outages="60 days,1 days")
    screen = " ".join(simulation_text.render(found).split())
    assert "points" in screen
    assert "too high" in screen
    assert "knows nothing of failures with a memory, planned stops and outages" in screen
    assert "Weibull, shape 0.5" in screen
    assert found.jobs[0].loss.planned == pytest.approx(0.025, rel=0.15)
    assert found.jobs[0].failures.variation > 2
    assert found.storage.outages_per_year > 1
    assert 0 < found.storage.some_down < 1


def test_measured_failures_are_taken_as_they_are_or_stretched(plan: Plan, folder: Path) -> None:
    file = str(folder / "gaps.csv")
    plain, scaled = (
        simulated(plan, failures=file, scaled=stretch, replications=2, intervals=False).jobs[0]
        for stretch in (False, True)
    )
    assert plain.failures.mean_s == 5 * 3600
    assert plain.failures.times == 9
    assert scaled.failures.mean_s == pytest.approx(plan.jobs[0].mtti_s)
    assert plain.predicted != plain.planned_goodput
    assert plain.interruptions_per_year == pytest.approx(24 * 365 / 5, rel=0.05)


def test_jobs_beside_share_the_storage(plan: Plan, folder: Path) -> None:
    more = (folder / "side.yaml", folder / "small.plan.json")
    found = simulated(plan, beside=more, replications=4, length_s=20 * DAY_S)
    first, side, twin = found.jobs
    job = plan.jobs[0]
    assert not found.intervals
    assert (side.name, side.planned_goodput) == ("side", None)
    assert side.checkpoint_gb == pytest.approx(98.0)
    assert side.failures.mean_s == pytest.approx(DAY_S / (4.74e-4 * 64))
    assert side.predicted == pytest.approx(
        goodput(1200, 2, side.drain_s, 600 + side.restore_s, side.failures.mean_s)
    )
    assert twin.predicted == first.predicted == pytest.approx(job.goodput)
    for each in found.jobs:
        assert each.goodput.mean + total(each.loss) == pytest.approx(1.0, abs=1e-12)
        assert each.name in simulation_text.render(found)


def test_a_slowdown_stands_apart_from_the_stall(plan: Plan) -> None:
    job = plan.jobs[0]
    slow = plan.model_copy(update={"jobs": (job.model_copy(update={"drain_slowdown": 0.3}),)})
    whole = simulated(slow, replications=2)
    assert "first intervals after restarts" in " ".join(simulation_text.render(whole).split())
    found = whole.jobs[0]
    parts = goodput_loss(
        job.interval_s, job.stall_s, job.drain_s, job.restart_s, job.restore_s, job.mtti_s, 0.3
    )
    before = found.predicted_loss
    assert before.stall + before.slowdown == pytest.approx(parts.stall)
    assert found.loss.slowdown == pytest.approx(before.slowdown, rel=0.05)


def test_the_screen_keeps_to_its_width(plan: Plan, folder: Path) -> None:
    found = simulated(plan, replications=2, beside=(folder / "side.yaml",), length_s=5 * DAY_S)
    assert max(map(len, simulation_text.render(found).splitlines())) <= 100


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("guard", ["", "if __name__ == '__main__': "])
def test_processes_are_started_from_any_script(guard: str, folder: Path, tmp_path: Path) -> None:
    """A script of one's own may call planner without a guard: no process runs the script again."""
    script = tmp_path / "own.py"
    script.write_text(f"from planner.cli import main\nprint('begun', flush=True)\n{guard}main()\n")
    plan = str(folder / "small.plan.json")
    options = ("--replications", "600", "--length", "4 years", "--no-intervals", "-q")
    done = subprocess.run(
        [sys.executable, str(script), "simulate", plan, *options, "--json", "--jobs", "2"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("begun") == 1
    record = Simulation.model_validate_json(done.stdout.removeprefix("begun\n"))
    assert record.replications == 600


@pytest.mark.exhaustive(keep=0)
def test_the_result_depends_neither_on_processes_nor_on_when(folder: Path, tmp_path: Path) -> None:
    """600 runs of 2 blocks, enough that processes are started."""
    plan = str(folder / "small.plan.json")
    options = ("--replications", "600", "--length", "4 years", "--no-intervals", "--json", "-q")
    one = ran("simulate", plan, *options, "--jobs", "1", "-o", str(tmp_path / "one"))
    two = ran("simulate", plan, *options, "--jobs", "2", "-o", str(tmp_path / "two"))
    assert (one.code, one.err) == (0, "")
    assert one == two
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == [
        "small.loss.png", "small.loss.svg", "small.simulation.json", "small.timeline.png",
        "small.timeline.svg",
    ]  # fmt: skip
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    record = Simulation.model_validate_json((tmp_path / "one" / names[2]).read_bytes())
    assert record == Simulation.model_validate_json(one.out)
    other = ran("simulate", plan, *FEW, "--no-intervals", "--json", "--seed", "2")
    assert json.loads(other.out)["jobs"][0]["goodput"] != json.loads(one.out)["jobs"][0]["goodput"]


def test_a_problem_file_and_a_scenario_are_solved_first(folder: Path, tmp_path: Path) -> None:
    problem = str(folder / "problem.yaml")
    done = ran("simulate", problem, *FEW, "--scenario", "half_power", "-o", str(tmp_path))
    assert done.code == 0
    assert done.out.startswith("Small hall, half_power  (simulated event by event: 20 runs of")
    assert (tmp_path / "problem.half_power.simulation.json").is_file()
    none = ran("simulate", problem, "--set", "site.facility_power=1 kW")
    assert none.code == 3
    assert "no plan, so nothing to simulate" in none.out


def test_the_timeline_shows_what_is_lost_and_the_picture_of_losses_adds_up(plan: Plan) -> None:
    found = simulated(plan, replications=2)
    shown = found.timeline
    assert shown.at_s is not None
    assert shown.start_s < shown.at_s < shown.end_s
    lost = [bar for bar in shown.bars if bar.doing == "lost"]
    assert lost[-1].end_s == shown.at_s
    assert {bar.doing for bar in shown.bars} >= {
        "compute", "lost", "capture", "restart", "restore", "drain", "read",
    }  # fmt: skip
    gpus = [bar for bar in shown.bars if bar.doing not in ("drain", "read")]
    assert sum(bar.end_s - bar.start_s for bar in gpus) == pytest.approx(
        shown.end_s - shown.start_s
    )
    assert timeline(found).panels[0].rows == ("GPUs", "storage")
    bars = [layer for layer in loss(found).panels[0].layers if isinstance(layer, Bars)]
    for layer in bars:
        assert math.fsum(layer.ends[1:]) == pytest.approx(layer.ends[0])


def test_a_run_without_interruption_is_shown_from_its_start(plan: Plan) -> None:
    found = simulated(plan, replications=2, length_s=6 * plan.jobs[0].interval_s, intervals=False)
    assert found.timeline.at_s is None
    assert found.timeline.start_s == 0
    assert "nothing interrupts it" in timeline(found).subtitle


WRONG = {
    ("--failures", "often"): "--failures 'often' is not known; write exponential, weibull:0.7",
    ("--failures", "exponential:2"): "is not known; write exponential",
    ("--failures", "weibull"): "'' is no shape of a Weibull distribution; write weibull:0.7",
    ("--failures", "weibull:0"): "'0' is no shape of a Weibull distribution",
    ("--failures", "none.csv"): "none.csv: there is no such file",
    ("--column", "gap_h"): "--column is about a file of failures",
    ("--scaled",): "--scaled is about a file of failures",
    ("--planned", "30 days"): "--planned '30 days' is not two times; write '30 days,4 h'",
    ("--planned", "4 h,30 days"): "a stop lasts until the next one is due",
    ("--planned", "x,4 h"): "--planned: cannot read 'x' as time",
    ("--outages", "2 years,8"): "--outages: '8' has no unit",
    ("--outages", "0 s,8 h"): "--outages: 0 s must be more than 0",
    ("--outages", "1 s,1 s"): "events, at most 20,000,000 are made; give a shorter --length",
    ("--replications", "1"): "--replications 1 must lie between 2 and 100,000",
    ("--length", "1 min"): "ends before the first checkpoint",
    ("--length", "2000 years"): "is longer than 1,000 years",
    ("--length", "soon"): "--length: cannot read 'soon' as time",
    ("--interval", "1 s"): "--interval 1 s is no longer than the 5 s that the GPUs stand still",
    ("--seed", "-1"): "--seed -1 must be 0 or more",
    ("--jobs", "-1"): "--jobs -1 must be 0 or more",
    ("--beside", "none.yaml"): "no such file of jobs",
    ("--beside", "none.plan.json"): "there is no such file",
    ("--beside", "problem.txt"): "a file named '.txt' holds no plan",
    ("--set", "site.pue=1.2"): "--set and --scenario change problem files, and this is none",
}


@pytest.mark.parametrize("options", WRONG)
def test_a_wrong_option_is_one_line(
    options: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = ran("simulate", "small.plan.json", *options)
    assert (done.code, done.out) == (2, "")
    assert WRONG[options] in done.err
    assert done.err.count("\n") == 1


WRONG_JOBS = {
    "jobs: []": "side.yaml:1: jobs: the list is empty",
    "job: 1": "there are no jobs in it; give a plan, or a file that begins with 'jobs:'",
    BESIDE.replace("gpus: {min: 64}", "mode: x"): "side.yaml:4: jobs.0.mode: unknown key 'mode'",
    BESIDE.replace("    gpus: {min: 64}\n", ""): (
        "side.yaml:2: jobs.0: it does not say how many GPUs it uses; write gpus: {min: 512}"
    ),
    BESIDE.replace("policy: fixed, every: 20 min", "min: 1 min"): (
        "jobs.0: its interval is not fixed, and nothing chooses one here"
    ),
    BESIDE.replace("20 min", "2 s"): "the interval of side, 2 s, is no longer than the 2 s",
    "jobs:" + BESIDE[5:] * 8: "9 jobs are more than can share storage here; at most 8 in all",
}


@pytest.mark.parametrize("text", WRONG_JOBS)
def test_a_wrong_job_beside_is_one_line(
    text: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "side.yaml").write_text(text, "utf-8")
    done = ran("simulate", str(folder / "small.plan.json"), "--beside", "side.yaml")
    assert done.code == 2
    assert WRONG_JOBS[text] in done.err
    assert done.err.count("\n") == 1


def at_work(process: int) -> bool:
    """Say whether two workers run, each in a group of its own: it does not hear of Ctrl-C."""
    try:
        started = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
        groups = [os.getpgid(int(child)) for child in "".join(started).split()]
    except OSError:  # one has just ended
        return False
    return len(groups) >= 2 and os.getpgid(process) not in groups


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it is seen at work in /proc")
def test_control_c_ends_it_without_traces(folder: Path) -> None:
    command = [
        sys.executable, "-c", "from planner.cli import main; main()", "simulate",
        str(folder / "small.plan.json"), "--length", "900 years", "--replications", "4000",
        "--jobs", "2",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not at_work(process.pid) and process.poll() is None:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert (process.returncode, out) == (130, "")
    said = "planner: interrupted: nothing was written or changed; "
    assert err in ("", f"{said}the same command starts from the beginning\n")
