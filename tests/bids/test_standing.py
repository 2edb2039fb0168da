"""Orders of bids, and whether the first stays first, against every corner of the ranges."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from planner.analysis.bids.evaluation import Evaluator
from planner.analysis.bids.ranking import Money, Score, order_scores, rank_stability
from planner.api import Options
from tests.bids.material import problem

SKUS = ("one", "two", "three")


def judge(folder: Path, changes: dict[str, str] | None = None, *, free: bool = False) -> Evaluator:
    return Evaluator(problem(folder, changes), Options(), "free" if free else "quoted")


def random_money(draw: random.Random) -> Money:
    spans = {}
    for sku in SKUS:
        if draw.random() < 0.7:
            low = draw.uniform(1.0, 20.0)
            spans[sku] = low, low * draw.uniform(1.0, 1.6)
    work = draw.uniform(0.9, 1.1)
    return Money(draw.uniform(90.0, 120.0), spans, work, work)


def at_corner(bid: Money, corner: Sequence[int]) -> float:
    ends = sum(bid.spans[sku][end] for sku, end in zip(SKUS, corner, strict=True)
               if sku in bid.spans)  # fmt: skip
    return (bid.fixed + ends) / bid.work


@pytest.mark.parametrize("seed", range(8))
def test_who_is_first_everywhere_is_first_in_every_corner(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    bids = {key: random_money(draw) for key in "ABC"}
    corners = list(itertools.product((0, 1), repeat=len(SKUS)))
    everywhere = all(
        at_corner(bids["A"], corner) < at_corner(bids[other], corner)
        for corner in corners
        for other in "BC"
    )
    held, settled = rank_stability(judge(tmp_path), bids)
    assert settled == everywhere
    assert sum(each.first for each in held.values()) == pytest.approx(1.0)
    if everywhere:
        assert (held["A"].first, held["A"].worst_rank) == (1.0, 1)


def test_of_bids_as_good_the_cheaper_comes_first(tmp_path: Path) -> None:
    """Half a percent of work is indifferent; more is not, whatever it costs."""
    free = judge(tmp_path, free=True)
    scores = [Score(100.0, 9.0), Score(99.6, 7.0), Score(99.4, 1.0)]
    assert order_scores(free, scores) == [1, 0, 2]
    least = judge(tmp_path, {"{maximize: goodput}": "{minimize: tco}"})
    assert order_scores(least, [Score(5.0, 5.0), Score(4.9999, 4.9999), Score(6.0, 6.0)]) == [
        1,
        0,
        2,
    ]


@pytest.mark.parametrize(
    ("changes", "free", "name", "money"),
    [
        ({}, False, "tco_per_useful_pflops", "tco"),
        ({"{maximize: goodput}": "{maximize: useful_gpus}"}, False, "tco_per_useful_gpu", "tco"),
        ({"term: {years: 4, electricity: 0.08 USD/kWh}\n": ""}, False,
         "capex_per_useful_pflops", "capex"),
        ({}, True, "goodput", "tco"),
        ({"{maximize: goodput}": "{minimize: cost}"}, False, "cost", "capex"),
        ({"{maximize: goodput}": "{minimize: usd_per_useful_gpu_hour}"}, False,
         "usd_per_useful_gpu_hour", "tco"),
    ],
)  # fmt: skip
def test_what_bids_are_ranked_by(
    tmp_path: Path, changes: dict[str, str], free: bool, name: str, money: str
) -> None:
    found = judge(tmp_path, changes, free=free)
    assert (found.measure.name, found.money) == (name, money)
