"""The screen of `planner characterize`: what it says, how wide it is, what cannot steer it."""

from __future__ import annotations

import pytest

from planner.report.screen import show
from planner.report.views import telemetry
from planner.schema.telemetry import Characterization
from tests.report.hostile import TEXTS
from tests.report.telemetry import samples

RECORDS = {
    "one": samples.one(),
    "three": samples.three(),
    "none": samples.record([]),
    "zero": samples.one().model_copy(update={"clock": "zero"}),
    "empty": samples.record([], clusters=(), traces=()),
}


def render(record: Characterization) -> str:
    return show(telemetry.view(record), full=True)


@pytest.mark.parametrize("name", RECORDS)
def test_it_keeps_to_its_width(name: str) -> None:
    text = render(RECORDS[name])
    shown = [line for line in text.splitlines() if not line.lstrip().startswith(("--", "planner"))]
    assert max(map(len, shown)) <= 100
    assert text == render(RECORDS[name]) and text.endswith("\n") and "\n\n\n" not in text


def test_one_job_in_full() -> None:
    text = render(samples.one())
    row = next(line for line in text.splitlines() if "13.8 TB ±0.3 %" in line)
    assert "7.6 ±0.3" in row and "273 GB/s" in row and "986 B" in text
    assert "Clusters" not in text
    assert "e+" not in text  # a range of 30 % stood there as 3e+01 %
    assert "2 restarts without a restoring read" in text
    assert "31 bursts of no job" in text
    assert "the size grew by 0.1 % on the third day" in text
    assert "'jobs.0.checkpoint.size=triangular(13.76 TB, 13.8 TB, 13.84 TB)'" in text
    assert "- stall: storage does not see it" in text


def test_unresolved_drains_are_upper_bounds() -> None:
    text = render(samples.three())
    row = next(line for line in text.splitlines() if line.startswith("  small"))
    assert "< 20 s" in row and "< 6.7 %" in row
    assert "drains shorter than two samples, upper bounds: small" in text


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
