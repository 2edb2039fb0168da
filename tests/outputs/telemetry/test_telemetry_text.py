"""The screen of `planner characterize`: what it says, how wide it is, what cannot steer it."""

from __future__ import annotations

import pytest

from planner.outputs import telemetry_text
from planner.outputs.blocks import screen
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


def render(record: Characterization) -> str:
    return screen(telemetry_text.render(record))


@pytest.mark.parametrize("name", RECORDS)
def test_it_keeps_to_its_width(name: str) -> None:
    text = render(RECORDS[name])
    shown = [line for line in text.splitlines() if not line.lstrip().startswith(("--", "planner"))]
    assert max(map(len, shown)) <= 100
    assert text == render(RECORDS[name]) and text.endswith("\n") and "\n\n\n" not in text


def test_the_headline_counts_checkpoints_and_jobs() -> None:
    text = " ".join(render(samples.three()).split())
    # 652, 480 and 1,440 checkpoints at 7.6, 13.0 and at most 3.7 %: the half lies in the last.
    assert "overlap 3.7 % (median of checkpoints), 2 of 3 jobs under 10 %" in text
    assert "bandwidth 21.0 GB/s to 273 GB/s, median 90.0 GB/s" in text


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
    assert "7.6 ±0.3" in row and "273 GB/s" in row and "986 B" in text
    assert "Clusters" not in text
    assert "2 restarts without a restoring read" in text
    assert "31 bursts of no job" in text
    assert "the size grew by 0.1 % on the third day" in text
    assert "'jobs.0.checkpoint.size=triangular(13.76 TB, 13.8 TB, 13.84 TB)'" in text
    assert "- stall: storage does not see it" in text


def test_flaws_are_shown_where_there_are_any() -> None:
    text = render(samples.record([samples.job()]))
    for words in ("missing sample", "step", "reset", "repeated", "upper bounds", "Calibration"):
        assert words not in text, words
    flawed = samples.cluster(missing=52, steps=1, resets=3, repeated=2, reads=False)
    text = " ".join(render(samples.record([samples.job()], clusters=(flawed,))).split())
    flaws = "52 missing samples, 2 repeated samples, 1 step of the clock, 3 resets of counters"
    assert flaws in text
    assert "no reads in the trace: no restores, restarts not confirmed" in text


def test_unresolved_drains_are_upper_bounds() -> None:
    text = render(samples.three())
    row = next(line for line in text.splitlines() if line.startswith("  small"))
    assert "< 20.0 s" in row and "< 6.70" in row
    assert "drains shorter than two samples, upper bounds: small" in text


def test_of_many_jobs_the_largest_are_shown() -> None:
    record = samples.many(60)
    text = render(record)
    assert "the 20 with the largest checkpoints; 40 more in the files" in text
    largest = max(job.size_gb.value for job in record.jobs)
    assert f"{largest / 1000:.1f} TB" in text.split("Jobs\n")[1].splitlines()[1]
    assert "Clusters" in text


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


def test_names_are_cut_in_their_middle_and_stay_apart() -> None:
    jobs = [samples.job(f"{'a' * 50}{at}{'b' * 50}") for at in range(3)]
    names = labels(samples.record(jobs), jobs, 20)
    assert len(set(names)) == 3 and all(len(name) <= 20 for name in names)
    assert names[0].startswith("aaa") and names[0].endswith("bbb")
