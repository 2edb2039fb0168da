"""Failure times: their distributions, and files of measured ones with every way to be wrong."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from planner.analysis.simulation import read_failures
from planner.errors import InputError
from planner.simulation.job import Law, empirical
from planner.simulation.run import simulate
from tests.simulation.worlds import job

MEASURED = empirical((10.0, 20.0, 30.0, 100.0))


@pytest.mark.parametrize(
    ("law", "variation"),
    [
        (Law(40.0), 1.0),
        (Law(40.0, "weibull", 0.7), 1.462),
        (Law(40.0, "weibull", 3.0), 0.3634),
        (MEASURED, 0.883),
    ],
)
def test_times_have_the_mean_and_variation_of_their_law(law: Law, variation: float) -> None:
    gaps = law.draw(np.random.default_rng(1), (400, 500))
    assert gaps.mean() == pytest.approx(40.0, rel=0.01)
    assert gaps.std() / gaps.mean() == pytest.approx(variation, rel=0.03)
    assert law.scaled(80.0).draw(np.random.default_rng(1), (400, 500)).mean() == pytest.approx(
        2 * gaps.mean()
    )


def test_measured_times_of_an_exponential_give_its_goodput() -> None:
    mean, length_s = 500.0, 200_000.0
    sample = tuple(np.random.default_rng(3).exponential(mean, 20_000).tolist())
    found = []
    for law in (Law(mean), empirical(sample).scaled(mean)):
        kept = simulate((job(failures=law),), length_s, 60, 1)["kept"] / length_s
        found.append((kept.mean(), kept.std() / math.sqrt(kept.size)))
    (one, room), (other, _) = found
    assert abs(one - other) < 4 * room
    assert room < 0.005


GOOD = {
    "gap_h\n1\n2.5\n": (3600.0, 9000.0),
    "node,time between failures (min)\na,2\nb,\nc,3e0\n": (120.0, 180.0),
    "tbf\n90 s\n2 min\n": (90.0, 120.0),
    "hours\n1\n\n2\n": (3600.0, 7200.0),
    "gap_s;node\n5;a\n6;b\n": (5.0, 6.0),
    "when\n2026-03-01T10:00:00\n2026-03-01T12:00:00Z\n2026-03-01 11:00\n": (3600.0, 3600.0),
    "when\n2026-03-01\n2026-03-02\n2026-03-02\n2026-03-05\n": (86_400.0, 259_200.0),
    "Prob Started (mm/dd/yy hh:mm)\n6/1/2003 9:38\n6/13/2003 9:38\n6/2/2003 9:38\n": (
        86_400.0,
        950_400.0,
    ),
}


@pytest.mark.parametrize("text", GOOD)
def test_files_of_measured_times(text: str, tmp_path: Path) -> None:
    path = tmp_path / "failures.csv"
    path.write_text(text, "utf-8")
    names = text.partition("\n")[0].replace(";", ",").split(",")
    column = names[1] if "between" in text else names[0]
    assert read_failures(path, column).measured_s == pytest.approx(GOOD[text])
    if len(names) == 1:
        assert read_failures(path, None) == read_failures(path, column)


BAD = {
    ("", None): "the file is empty",
    ("a_h,b_h\n1,2\n", None): "several columns: a_h, b_h; choose one: --failures FILE=COLUMN",
    ("gap_h\n1\n2\n", "gap_s"): "there is no column 'gap_s'; did you mean 'gap_h'?",
    ("gap\n1\n2\n", None): "failures.csv:2: column 'gap': '1' has no unit; name the column",
    ("gap_h\n1\n-2\n", None): "failures.csv:3: column 'gap_h': a time between interruptions must",
    ("gap_h\n1\n0\n", None): "must be more than 0: '0'",
    ("gap_h\n1\nten\n", None): "failures.csv:3: column 'gap_h': cannot read 'ten' as time",
    ("gap_h\n1\n3 km\n", None): "'km' in '3 km' is not a unit of time",
    ("gap_h\n1\n", None): "column 'gap_h' has 1 times between interruptions; 2 or more",
    ("when\n2026-03-01\n2026-13-01\n", None): "failures.csv:3: '2026-13-01' is not a time",
    ("when\n2026-03-01\n", None): "column 'when' has 0 times",
}


@pytest.mark.parametrize(("text", "column"), BAD)
def test_what_is_wrong_with_a_file_is_one_line(
    text: str, column: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "failures.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        read_failures(path, column)
    assert BAD[text, column] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_jobs_that_slurm_calls_failed(tmp_path: Path) -> None:
    """Neither steps, nor jobs that completed, were cancelled or still run."""
    path = tmp_path / "sacct.txt"
    rows = (
        "1|FAILED|2026-01-01T05:00:00", "1.batch|FAILED|2026-01-01T05:00:01",
        "2|COMPLETED|2026-01-01T06:00:00", "3|NODE_FAIL|2026-01-01T09:00:00",
        "4|CANCELLED by 1000|2026-01-01T10:00:00", "5|RUNNING|Unknown",
        "6|OUT_OF_MEMORY|2026-01-01T12:00:00",
    )  # fmt: skip
    path.write_text("\n".join(("JobID|State|End", *rows)) + "\n", "utf-8")
    assert read_failures(path).measured_s == pytest.approx((4 * 3600.0, 3 * 3600.0))
