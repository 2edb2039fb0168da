"""The screen of `planner characterize`: what it says, how wide it is, what cannot steer it."""

from __future__ import annotations

import shlex

import pytest

from planner.outputs.telemetry_text import render
from planner.outputs.telemetry_words import labels, median_overlap
from planner.schema.telemetry import Characterization, Measured
from tests.outputs.hostile import TEXTS
from tests.outputs.telemetry import samples

RECORDS = {
    "one": samples.one(),
    "three": samples.three(),
    "many": samples.many(60),
    "none": samples.record([]),
    "zero": samples.one().model_copy(update={"clock": "zero"}),
    "empty": samples.record([], clusters=(), traces=()),
}


@pytest.mark.parametrize("name", RECORDS)
def test_it_keeps_to_its_width(name: str) -> None:
    text = render(RECORDS[name])
    shown = [line for line in text.splitlines() if not line.lstrip().startswith(("--", "planner"))]
    assert max(map(len, shown)) <= 100
    assert text == render(RECORDS[name]) and text.endswith("\n") and "\n\n\n" not in text


def test_the_headline_counts_checkpoints_and_jobs() -> None:
    text = " ".join(render(samples.three()).split())
    # 652, 480 and 1,440 checkpoints at 7.6, 13.0 and at most 3.7 %: the half lies in the last.
    assert "drain takes 3.7 % of the interval or less. 2 of 3 jobs (67 %) stay under 10 %." in text
    assert "at 21.0 GB/s to 273 GB/s, 90.0 GB/s in the median" in text


def test_the_median_weighs_jobs_by_their_checkpoints() -> None:
    jobs = [
        samples.job(str(place)).model_copy(
            update={"checkpoints": count, "overlap": Measured(value=share)}
        )
        for place, (count, share) in enumerate([(10, 0.3), (4, 0.1), (5, 0.2)])
    ]
    assert median_overlap(jobs) == 0.3
    assert median_overlap(jobs[1:]) == 0.2
    assert median_overlap([]) is None


def test_one_job_in_full() -> None:
    text = render(samples.one())
    row = next(line for line in text.splitlines() if "13.8 TB ±0.3 %" in line)
    assert row.split("  ")[1:] and "986 B" in row and "7.6 ±0.3" in row and "273 ±4 %" in row
    assert "Clusters" not in text
    assert "2 restarts are told by a break of the rhythm alone" in text
    assert "1.00 x" in text and "31 bursts of writing of no job" in text
    assert "the size grew by 0.1 % on the third day" in text


def test_what_is_not_there_is_not_told() -> None:
    text = render(samples.record([samples.job()]))
    for words in ("missing", "step", "reset", "repeated", "restarts", "Not resolved", "calibrated"):
        assert words not in text, words
    flawed = samples.cluster(missing=52, steps=1, resets=3, repeated=2, reads=False)
    text = " ".join(render(samples.record([samples.job()], clusters=(flawed,))).split())
    assert (
        "52 samples missing (0.10 %), 2 repeated samples, 1 sudden step of the clock and "
        "3 resets of counters"
    ) in text
    assert "no reads in the trace: restores are not seen, restarts not confirmed" in text


def test_what_is_not_resolved_is_an_upper_bound() -> None:
    text = render(samples.three())
    row = next(line for line in text.splitlines() if line.startswith("  small"))
    assert "< 20.0 s" in row and "< 6.70" in row and "90.0 (≥ 49.0)" in row
    assert "the drain of 1 job is shorter than two samples" in text


def test_of_many_jobs_the_largest_are_shown() -> None:
    record = samples.many(60)
    text = render(record)
    assert "the 20 with the largest checkpoints of 60; the files have all" in text
    sizes = sorted((job.size_gb.value for job in record.jobs), reverse=True)
    shown = text.split("What the jobs write")[1].split("\n\n")[0].splitlines()[3:-1]
    assert len(shown) == 20
    assert f"{sizes[0] / 1000:.1f} TB" in shown[0]
    assert "Clusters" in text and "\n  median" in text


def test_the_commands_can_be_copied() -> None:
    text = render(samples.one()).replace("\\\n", "")
    block = text.split("To plan with it\n")[1].split("To plan with its ranges\n")
    solve = shlex.split(block[0])
    uncertain = shlex.split(block[1].split("\n\n")[0])
    assert solve[:3] == ["planner", "solve", "PROBLEM.yaml"]
    assert solve[3::2] == ["--set"] * 3
    assert solve[4::2] == [each.setting for each in samples.calibration().overrides]
    assert (
        uncertain[4] == ("jobs.0.checkpoint.size=triangular(13.76 TB, 13.8 TB, 13.84 TB)")
        and len(uncertain) == 7
    )
    assert "[13.76,     13.84]" in text and "llama3" in text
    assert "- stall: storage does not see it" in text


def hostile(text: str) -> Characterization:
    overrides = [
        each.model_copy(update={"label": text, "source": text, "now": text})
        for each in samples.calibration().overrides
    ]
    calibration = samples.calibration().model_copy(
        update={"job": text, "problem": text, "overrides": tuple(overrides),
                "not_measured": (text,)}
    )  # fmt: skip
    jobs = [samples.job(text, cluster=text, notes=(text,)), samples.job(text, 5.0, cluster="b")]
    return samples.record(jobs, calibration=calibration, notes=(text,), traces=(text,) * 3)


@pytest.mark.parametrize("name", TEXTS)
def test_no_name_steers_the_terminal_or_breaks_the_page(name: str) -> None:
    text = render(hostile(TEXTS[name]))
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    shown = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    assert max(map(len, shown)) <= 100


def test_ranges_that_need_much_room_are_told_in_short() -> None:
    wide = Measured(value=1_234.0, low=1_000.0, high=9_876.0)
    share = Measured(value=0.123, low=0.1, high=0.9)
    job = samples.job("a" * 90, size_gb=1.0).model_copy(
        update={"size_gb": wide, "interval_s": wide, "drain_s": wide, "overlap": share,
                "write_gb_per_s": wide}
    )  # fmt: skip
    text = render(samples.record([job]))
    assert max(map(len, text.splitlines())) <= 100
    assert "1.23 TB ±700 %" in text


def test_names_are_cut_in_their_middle_and_stay_apart() -> None:
    jobs = [samples.job(f"{'a' * 50}{at}{'b' * 50}") for at in range(3)]
    names = labels(samples.record(jobs), jobs, 20)
    assert len(set(names)) == 3 and all(len(name) <= 20 for name in names)
    assert names[0].startswith("aaa") and names[0].endswith("bbb")
