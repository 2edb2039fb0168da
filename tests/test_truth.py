"""The page of predictions beside what is published: kept in step, blind, with its misses."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.world.scripts import script

truth = script("make_truth")
ROWS = {title: list(rows()) for title, rows in truth.SECTIONS}
RUNS = {f"{run.system}-{run.precision}-{run.gpus}": run for run in truth.RUNS}


def test_the_page_is_what_is_computed() -> None:
    page = Path(truth.PAGE).read_text("utf-8")
    assert page == truth.page(), "run python scripts/make_truth.py"


def test_eight_systems_at_least_are_predicted() -> None:
    assert len({(run.system, run.precision, run.gpus) for run in truth.RUNS}) >= 8
    assert len({run.system for run in truth.RUNS}) == 5


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_not_predicted_from_itself(name: str) -> None:
    run = RUNS[name]
    basis = truth.basis_of(run)
    assert (basis.system, basis.precision) == (run.system, run.precision)
    assert not basis.in_mlperf or basis.gpus != run.gpus
    assert all(rate.system != run.system for rate in truth.others(run.system))


@pytest.mark.parametrize("name", RUNS)
def test_the_causes_make_up_the_error(name: str) -> None:
    run = RUNS[name]
    basis, power = truth.basis_of(run), truth.exponent(truth.others(run.system))
    rate = basis.tflops * (run.gpus / basis.gpus) ** -power
    minutes = 6 * 405e9 * truth.tokens_of(run) / (run.gpus * rate * 1e12) / 60
    (row,) = (each for each in ROWS["Time to train Llama 3.1 405B in MLPerf"]
              if each.published == run.minutes)  # fmt: skip
    assert row.predicted == pytest.approx(minutes)
    assert math.prod(truth.causes(run, rate)) == pytest.approx(row.predicted / row.published)


def test_the_exponent_is_that_of_a_line_through_logarithms() -> None:
    made = [truth.Rate("a", "fp8", gpus, 900 * gpus**-0.07, "mlperf_x") for gpus in (64, 512, 4096)]
    made += [truth.Rate("b", "fp8", gpus, 100 * gpus**-0.07, "mlperf_x") for gpus in (8, 16)]
    made += [truth.Rate("b", "fp8", 9, 1.0, "somebody")]
    assert truth.exponent(made) == pytest.approx(0.07)
