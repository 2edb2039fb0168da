"""Failure times: their distributions, and files of measured ones with every way to be wrong."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from planner.errors import InputError
from planner.simulation.lanes import Lanes
from planner.simulation.operation import Empirical, Exponential, Failures, Weibull
from planner.simulation.world import Outages, Planned, World, draw, failure_times, planned_times
from planner.studies.simulation.options import read_times
from tests.simulation.worlds import TWO, job, world

MEASURED = Empirical((10.0, 20.0, 30.0, 100.0))


@pytest.mark.parametrize(
    "failures", [Exponential(40.0), Weibull(40.0, 0.7), Weibull(40.0, 3.0), MEASURED]
)
def test_times_have_the_mean_and_variation_they_state(failures: Failures) -> None:
    gaps = failures.gaps(np.random.default_rng(1), (400, 500))
    assert gaps.mean() == pytest.approx(40.0, rel=0.01)
    assert gaps.std() / gaps.mean() == pytest.approx(failures.variation, rel=0.01)
    assert failures.scaled(80.0).mean_s == pytest.approx(80.0)
    assert failures.scaled(80.0).variation == pytest.approx(failures.variation)


def test_a_weibull_of_shape_1_is_exponential() -> None:
    assert Weibull(40.0, 1.0).variation == pytest.approx(1.0)


def test_failures_go_on_to_the_end_of_every_run() -> None:
    bunched = Weibull(10.0, 0.3)
    times = failure_times(bunched, np.random.default_rng(1), 2000.0, 50)
    known = np.where(np.isfinite(times), times, -math.inf)
    assert np.isinf(times[:, -1]).all()
    assert np.median(known.max(1)) > 1900.0
    assert (np.diff(np.where(np.isinf(times), 1e9, times), axis=1) >= 0).all()
    assert np.isfinite(times).sum(1).mean() == pytest.approx(200.0, rel=0.1)


def test_measured_times_of_an_exponential_give_its_goodput() -> None:
    mean, length_s = 500.0, 200_000.0
    sample = tuple(np.random.default_rng(3).exponential(mean, 20_000).tolist())
    found = []
    for failures in (Exponential(mean), Empirical(sample).scaled(mean)):
        of = World((job(failures=failures),), TWO)
        kept = Lanes(of, draw(of, length_s, 1, 60), length_s).run()["kept"] / length_s
        found.append((kept.mean(), kept.std() / math.sqrt(kept.size)))
    (one, room), (other, _) = found
    assert abs(one - other) < 4 * room
    assert room < 0.005


def test_planned_stops_are_due_at_multiples() -> None:
    assert planned_times(Planned(30.0, 1.0), 90.0).tolist() == [30.0, 60.0, math.inf]
    assert planned_times(None, 90.0).tolist() == [math.inf]


def test_appliances_are_down_as_long_as_stated() -> None:
    of = world(outages=Outages(300.0, 100.0))
    given = draw(of, 40_000.0, 1, 50)
    edges = np.minimum(np.pad(given.changes, ((0, 0), (1, 0))), 40_000.0)
    spans = np.diff(np.pad(edges, ((0, 0), (0, 1)), constant_values=40_000.0), axis=1)
    shares = [(spans * (given.down == down)).sum() / spans.sum() for down in (0, 1, 2)]
    assert shares == pytest.approx([0.75**2, 2 * 0.75 * 0.25, 0.25**2], rel=0.05)
    np.testing.assert_allclose(given.write_gb_per_s, 5.0 * (2 - given.down))
    np.testing.assert_allclose(given.read_gb_per_s, 10.0 * (2 - given.down))


def test_one_more_job_does_not_change_what_strikes_the_first() -> None:
    one, two = world(job(failures=MEASURED)), world(job(failures=MEASURED), job())
    assert np.array_equal(draw(one, 900.0, 1, 4).failures[0], draw(two, 900.0, 1, 4).failures[0])


GOOD = {
    "gap_h\n1\n2.5\n": (3600.0, 9000.0),
    "node,time between failures (min)\na,2\nb,\nc,3e0\n": (120.0, 180.0),
    "tbf\n90 s\n2 min\n": (90.0, 120.0),
    "hours\n1\n\n2\n": (3600.0, 7200.0),
    "gap_s;node\n5;a\n6;b\n": (5.0, 6.0),
    "when\n2026-03-01T10:00:00\n2026-03-01T12:00:00Z\n2026-03-01 11:00\n": (3600.0, 3600.0),
    "when\n2026-03-01\n2026-03-02\n2026-03-02\n2026-03-05\n": (86_400.0, 259_200.0),
}


@pytest.mark.parametrize("text", GOOD)
def test_files_of_measured_times(text: str, tmp_path: Path) -> None:
    path = tmp_path / "failures.csv"
    path.write_text(text, "utf-8")
    names = text.partition("\n")[0].replace(";", ",").split(",")
    column = names[1] if "between" in text else names[0]
    assert read_times(path, column).measured_s == pytest.approx(GOOD[text])
    if len(names) == 1:
        assert read_times(path, None) == read_times(path, column)


BAD = {
    ("", None): "the file is empty",
    ("a_h,b_h\n1,2\n", None): "there are several columns: a_h, b_h; choose one with --column",
    ("gap_h\n1\n2\n", "gap_s"): "there is no column 'gap_s'; did you mean 'gap_h'?",
    ("gap\n1\n2\n", None): "failures.csv:2: '1' in column 'gap' has no unit; name the column",
    ("gap_h\n1\n-2\n", None): "failures.csv:3: column 'gap_h': a time between interruptions must",
    ("gap_h\n1\n0\n", None): "must be more than 0: '0'",
    ("gap_h\n1\nten\n", None): "failures.csv:3: column 'gap_h': cannot read 'ten' as time",
    ("gap_h\n1\n3 km\n", None): "'km' in '3 km' is not a unit of time",
    ("gap_h\n1\n", None): "column 'gap_h' has 1 times between interruptions; 2 or more",
    ("when\n2026-03-01\n2026-13-01\n", None): "failures.csv:3: column 'when': cannot read",
    ("when\n2026-03-01\n", None): "column 'when' has 0 times",
}


@pytest.mark.parametrize(("text", "column"), BAD)
def test_what_is_wrong_with_a_file_is_one_line(
    text: str, column: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "failures.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        read_times(path, column)
    assert BAD[text, column] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_times(tmp_path / "none.csv", None)
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_times(tmp_path, None)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        read_times(tmp_path / "binary.csv", None)
