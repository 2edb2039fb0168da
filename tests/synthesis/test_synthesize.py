"""The command: a plan in, a trace, its truth and the jobs' log out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from planner.outputs import plan_json
from planner.outputs.words import duration
from planner.schema.plan import Plan
from planner.schema.telemetry import Truth
from planner.simulation.from_plan import world_of
from planner.simulation.record import record
from planner.simulation.world import draw
from planner.synthesis.make import clusters_of, of_cluster
from tests.synthesis.histories import quality, sampled
from tests.world.commands import Ran, ran
from tests.world.solved import write_plan

FAULTS = (
    "--background", "0.5 GB/s", "--noise", "3 %", "--missing", "1 %", "--jitter", "1 s",
    "--clock-steps", "2",
)  # fmt: skip


def synthesize(*arguments: object) -> Ran:
    return ran("synthesize", *map(str, arguments))


# 512 GPUs that fail more often than they should, for short traces: every 30,000 s.
OFTEN = (
    "jobs.0.failures={per_gpu_day: 0.005625}",
    "jobs.0.checkpoint.interval={policy: fixed, every: 1888.4979 s}",
    "jobs.0.ingest_per_gpu=0.00048828125 GB/s",
)


@pytest.fixture(scope="module")
def file(small: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "hall.plan.json"
    write_plan(path, small, *OFTEN)
    return path


@pytest.fixture(scope="module")
def plan(file: Path) -> Plan:
    return plan_json.from_bytes(file.read_bytes())


def columns(path: Path) -> dict[str, Any]:
    table = csv.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)
    return {name: table.column(name) for name in table.column_names}


def truth(folder: Path) -> Truth:
    return Truth.model_validate_json((folder / "hall.truth.json").read_bytes())


def test_a_plan_leaves_its_trace(file: Path, plan: Plan, tmp_path: Path) -> None:
    done = synthesize(file, "-o", tmp_path / "new", "--length", "2 d")
    assert done.code == 0, done.err
    assert done.out.startswith("hall  (synthetic storage telemetry)\n  2 days: 17,280 samples")
    every, drain = duration(plan.jobs[0].interval_s), duration(plan.jobs[0].drain_s)
    assert f"a checkpoint of 980.0 GB every {every}, written in {drain}" in done.out
    names = ["hall.log.csv", "hall.trace.csv", "hall.truth.json"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == names
    assert all(name in done.err for name in names)
    found = columns(tmp_path / "new" / "hall.trace.csv")
    assert list(found) == ["time", "write_gb_per_s", "read_gb_per_s"]
    assert len(found["time"]) == 17_280
    assert str(found["time"][0]) == "2026-01-01 00:00:00+00:00"
    written = 10 * pc.sum(found["write_gb_per_s"]).as_py()
    true = truth(tmp_path / "new").clusters[0]
    assert written == pytest.approx(sum(one.size_gb for one in true.checkpoints), abs=1e-3)
    assert len(true.interruptions) > 2
    assert len(true.checkpoints) > 50


def test_the_truth_is_the_simulation(file: Path, plan: Plan, tmp_path: Path) -> None:
    synthesize(file, "-o", tmp_path, "--length", "2 d", "--seed", "7")
    world = world_of(plan)
    history, _ = record(world, draw(world, 172_800.0, 7), 172_800.0)
    true = truth(tmp_path)
    sampler, *_ = sampled()
    expected = of_cluster("cluster-1", history, plan.jobs, quality(), sampler)
    assert true.clusters[0].checkpoints == expected.checkpoints
    assert true.clusters[0].interruptions == expected.interruptions
    job = true.clusters[0].jobs[0]
    assert job == expected.jobs[0]
    assert job.interval_s == pytest.approx(job.planned_interval_s)
    assert job.drain_s == pytest.approx(job.planned_drain_s)
    assert (true.plans, true.seed, true.start) == (("hall.plan.json",), 7, "2026-01-01T00:00:00Z")


@pytest.mark.parametrize("counted", [(), ("--counter", "--resets", "3")])
def test_csv_and_parquet_agree(file: Path, tmp_path: Path, counted: tuple[str, ...]) -> None:
    told = [
        synthesize(file, "-o", tmp_path, "--length", "2 d", "--format", kind, *FAULTS, *counted)
        for kind in ("csv", "parquet")
    ]
    assert told[0].out == told[1].out
    text, binary = (columns(tmp_path / f"hall.trace.{kind}") for kind in ("csv", "parquet"))
    assert list(text) == list(binary)
    assert str(binary["time"].type) == "timestamp[ms, tz=UTC]"
    assert text["time"].cast(binary["time"].type).equals(binary["time"])
    for name in list(text)[1:]:
        assert text[name].type == binary[name].type
        assert text[name].equals(binary[name])
    assert ("write_bytes" in text) == bool(counted)


def test_the_same_seed_makes_the_same_bytes(file: Path, tmp_path: Path) -> None:
    for folder, seed in (("one", 3), ("again", 3), ("other", 4)):
        for kind in ("csv", "parquet"):
            synthesize(
                file, "-o", tmp_path / folder, "--length", "1 d", "--seed", seed, *FAULTS,
                "--format", kind,
            )  # fmt: skip
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert len(names) == 4
    for name in names:
        one, again, other = (tmp_path / each / name for each in ("one", "again", "other"))
        assert one.read_bytes() == again.read_bytes()
        assert one.read_bytes() != other.read_bytes()


def test_clusters_follow_one_another_and_differ(file: Path, tmp_path: Path) -> None:
    asked = ("--length", "2 d", "--missing", "1 %")
    synthesize(file, "-o", tmp_path, *asked, "--clusters", "3")
    found = columns(tmp_path / "hall.trace.csv")
    names = found["cluster"].to_pylist()
    assert names == sorted(names)
    assert list(dict.fromkeys(names)) == ["cluster-1", "cluster-2", "cluster-3"]
    true = truth(tmp_path).clusters
    assert [one.name for one in true] == ["cluster-1", "cluster-2", "cluster-3"]
    assert len({one.interruptions for one in true}) == 3
    assert len({one.missing for one in true}) > 1
    log = columns(tmp_path / "hall.log.csv")
    assert list(log) == ["time", "cluster", "job", "event"]
    assert log["event"].to_pylist().count("start") == 3
    alone = tmp_path / "alone"
    synthesize(file, "-o", alone, *asked)
    first = columns(alone / "hall.trace.csv")
    assert first["write_gb_per_s"].to_pylist() == [
        rate
        for name, rate in zip(names, found["write_gb_per_s"].to_pylist(), strict=True)
        if name == "cluster-1"
    ]


def test_the_log_has_every_failure(file: Path, tmp_path: Path) -> None:
    synthesize(
        file, "-o", tmp_path, "--length", "3 d", "--clock-steps", "3", "--start", "2026-02-01"
    )
    log = columns(tmp_path / "hall.log.csv")
    assert list(log) == ["time", "job", "event"]
    true = truth(tmp_path)
    failures = [
        when.timestamp() - true.start_s
        for when, what in zip(log["time"].to_pylist(), log["event"].to_pylist(), strict=True)
        if what == "failure"
    ]
    told = [one.at_s for one in true.clusters[0].interruptions]
    assert failures == pytest.approx(told, abs=1e-3)
    assert set(log["job"].to_pylist()) == {"seventy"}
    assert str(log["time"][0]) == "2026-02-01 00:00:00+00:00"
    events = log["event"].to_pylist()
    assert abs(events.count("checkpoint_begin") - len(true.clusters[0].checkpoints)) <= 2


def test_training_data_are_in_the_trace(file: Path, tmp_path: Path) -> None:
    synthesize(file, "-o", tmp_path, "--length", "2 h", "--quiet")
    reads = columns(tmp_path / "hall.trace.csv")["read_gb_per_s"].to_pylist()
    assert reads[:100] == [0.25] * 100


def test_several_jobs_share_the_first_ones_storage(file: Path, tmp_path: Path) -> None:
    done = synthesize(file, file, "-o", tmp_path, "--length", "2 d")
    assert done.code == 0, done.err
    (cluster,) = truth(tmp_path).clusters
    assert [job.name for job in cluster.jobs] == ["seventy", "seventy 2"]
    assert {one.job for one in cluster.checkpoints} == {"seventy", "seventy 2"}
    one, two = ([each.at_s for each in cluster.interruptions if each.job == job.name]
                for job in cluster.jobs)  # fmt: skip
    assert one != two


def test_jobs_of_one_name_are_numbered(plan: Plan) -> None:
    other = plan.model_copy(
        update={"jobs": (plan.jobs[0].model_copy(update={"name": "seventy 2"}),)}
    )
    names = [job.name for job in clusters_of([plan, plan, other, plan], 1).world.jobs]
    assert names == ["seventy", "seventy 2", "seventy 2 2", "seventy 3"]


def test_a_problem_is_solved_first(small: str, tmp_path: Path) -> None:
    done = synthesize(
        small, "--scenario", "half_power", "-o", tmp_path, "--length", "1 d", "--quiet"
    )
    assert done.code == 0, done.err
    assert done.err == ""
    assert (tmp_path / "problem.half_power.trace.csv").exists()


def test_without_a_plan_there_is_no_trace(small: str, tmp_path: Path) -> None:
    done = synthesize(small, "--set", "site.facility_power='1 kW'", "-o", tmp_path / "none")
    assert done.code == 3
    assert "no plan" in done.out
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--length", "5 s"), "--length 5 s is shorter than one sample of 10 s"),
        (("--length", "14"), "--length: '14' has no unit"),
        (("--sample", "0.0004 s"), "--sample 0.0004 s is no multiple of 1 ms"),
        (("--sample", "1 ms", "--length", "30 d"), "2,592,000,000 samples are more than"),
        (("--start", "noon"), "--start 'noon' is no time; write for example 2026-01-01T00:00:00Z"),
        (("--start", "1931-05-01"), "before 1970"),
        (("--start", "9999-12-31"), "after the year 9999"),
        (("--jitter", "5 s"), "--jitter 5 s must be less than half of a sample of 10 s"),
        (("--jitter", "-1 s"), "--jitter -1 s must be 0 or more"),
        (("--missing", "100 %"), "--missing 1 leaves no samples"),
        (("--noise", "300 %"), "--noise 3 is more than the rate itself"),
        (("--background", "3 GB"), "--background: 'GB' in '3 GB' is not a unit of bandwidth"),
        (("--resets", "2"), "--resets are of counters, and the samples are rates; add --counter"),
        (("--counter", "--resets", "-1"), "--resets -1 must be 0 or more"),
        (("--clock-steps", "999999"), "--clock-steps 999999 is more than the 120,960 samples"),
        (("--clusters", "0"), "--clusters 0 must be 1 or more"),
        (("--seed", "-2"), "--seed -2 must be 0 or more"),
        (("--format", "xlsx"), "'xlsx' is not one of 'csv', 'parquet'"),
        (("--set", "site.pue=1.1"), "--set and --scenario change problem files, and none is given"),
    ],
)
def test_wrong_options_are_told_in_a_line(
    file: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    done = synthesize(file, "-o", tmp_path, *options)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "there is no such file"), (b"{}", "holds no plan"), (b"\xff\x00", "this is no JSON")],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "x.plan.json"
    if content is not None:
        path.write_bytes(content)
    done = synthesize(path, "-o", tmp_path)
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert said in done.err


def test_files_are_written_whole_or_not_at_all(file: Path, tmp_path: Path) -> None:
    (tmp_path / "hall.log.csv").mkdir()
    (tmp_path / "hall.trace.csv").write_text("as it was")
    done = synthesize(file, "-o", tmp_path, "--length", "1 d")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "there is a folder of this name" in done.err
    assert (tmp_path / "hall.trace.csv").read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hall.log.csv", "hall.trace.csv"]


def test_a_name_is_no_formula(small: str, tmp_path: Path) -> None:
    path = tmp_path / "hall.plan.json"
    write_plan(path, small, *OFTEN, """jobs.0.name='=1+2,"x"'""")
    synthesize(path, "-o", tmp_path, "--length", "1 h")
    assert columns(tmp_path / "hall.log.csv")["job"][0].as_py() == '\'=1+2,"x"'
    assert truth(tmp_path).clusters[0].jobs[0].name == '=1+2,"x"'


def test_samples_need_not_be_whole_seconds(file: Path, tmp_path: Path) -> None:
    synthesize(file, "-o", tmp_path, "--length", "1 h", "--sample", "0.25 s")
    lines = (tmp_path / "hall.trace.csv").read_text().splitlines()
    assert lines[2].startswith("2026-01-01T00:00:00.250Z,")
    times = columns(tmp_path / "hall.trace.csv")["time"].cast("int64").to_numpy()
    assert set(np.diff(times)) == {250_000_000}


def test_a_file_name_need_not_be_text(file: Path, tmp_path: Path) -> None:
    odd = tmp_path / "h\udce9.plan.json"
    odd.write_bytes(file.read_bytes())
    done = synthesize(odd, "-o", tmp_path / "out", "--length", "1 h", "--quiet")
    assert done.code == 0, done.err
    (written,) = (tmp_path / "out").glob("*.truth.json")
    assert Truth.model_validate_json(written.read_bytes()).plans == ("h?.plan.json",)
