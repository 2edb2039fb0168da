"""The best mix of bids against every award of lots, each planned by itself from prices by hand."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from planner.inputs import Inputs
from planner.schema.prices import Discount
from planner.schema.problem import Quantity
from tests.bids.material import plain, problem
from tests.bids.test_bids import judged
from tests.world.solved import solve

PARTS = {"gpu_box": "BX-8-100", "quick_store": "QK-1-PRO", "slow_store": "SL-1-ECO",
         "helper": "HP-220-X"}  # fmt: skip
LOTS = {"gpu_box": "gpu_system", "quick_store": "storage", "slow_store": "storage"}


@dataclass(frozen=True)
class Offer:
    """A bid by hand: units and prices by product, and freight."""

    lines: Mapping[str, tuple[int, float]]
    freight: float

    def lot(self, category: str) -> dict[str, int]:
        return {sku: count for sku, (count, _) in self.lines.items() if LOTS.get(sku) == category}


def random_offers(seed: int) -> list[Offer]:
    draw = random.Random(seed)
    offers = []
    for place in range(3):
        lines: dict[str, tuple[int, float]] = {}
        if place == 0 or draw.random() < 0.6:
            lines["gpu_box"] = draw.randint(20, 44), float(draw.randint(230, 300) * 1000)
        if place == 1 or draw.random() < 0.6:
            store = draw.choice(("quick_store", "slow_store"))
            lines[store] = draw.randint(1, 5), float(draw.randint(60, 220) * 1000)
        if draw.random() < 0.7:
            lines["helper"] = draw.randint(1, 3), float(draw.randint(6, 12) * 1000)
        if not lines:
            lines["helper"] = 3, 5_000.0
        offers.append(Offer(lines, float(draw.choice((0, 0, 4_000, 90_000)))))
    return offers


def written(offers: list[Offer], folder: Path) -> list[Path]:
    return [
        plain(
            folder / f"bid{number}.xlsx",
            *((PARTS[sku], count, price) for sku, (count, price) in offer.lines.items()),
            on_top=offer.freight,
        )
        for number, offer in enumerate(offers)
    ]


def best_by_hand(inputs: Inputs, offers: list[Offer]) -> float | None:
    """Return the least TCO per useful PFLOP/s of all awards of the lots. Freight is added to the
    TCO; prices stand in a problem of fixed counts."""
    systems = [offer for offer in offers if offer.lot("gpu_system")]
    stores = [offer for offer in offers if offer.lot("storage")]
    values = []
    for system, store in itertools.product(systems, stores):
        taken = [offer for offer in offers if offer in (system, store)]
        value = _value(inputs, system, store, taken)
        values += [] if value is None else [value]
    return min(values, default=None)


def _value(inputs: Inputs, system: Offer, store: Offer, taken: list[Offer]) -> float | None:
    counts = {**system.lot("gpu_system"), **store.lot("storage")}
    asked = {"gpu_box": system.lines["gpu_box"][1]}
    asked |= {sku: store.lines[sku][1] for sku in store.lot("storage")}
    helpers = [offer.lines["helper"][1] for offer in taken if "helper" in offer.lines]
    if helpers:
        asked["helper"] = min(helpers)
    prices = dict(inputs.prices)
    for sku, usd in asked.items():
        at = {"list_usd": usd, "low_usd": None, "high_usd": None}
        prices[sku] = prices[sku].model_copy(update=at)
    rules = {sku: Quantity(fixed=counts[sku]) if sku in counts else Quantity(max=0) for sku in LOTS}
    off = tuple(Discount(discount="0 %", item=sku) for sku in asked)
    plan = solve(
        replace(
            inputs,
            prices=prices,
            discounts=(*inputs.discounts, *off),
            problem=inputs.problem.model_copy(update={"items": rules}),
        ),
        explain=False,
    )
    if plan.totals is None or not plan.jobs or plan.totals.tco_usd is None:
        return None
    freight = sum(offer.freight for offer in taken)
    budget = inputs.problem.budget.capex_usd
    assert plan.totals.capex_usd is not None
    assert plan.jobs[0].useful_pflops is not None
    if budget is not None and plan.totals.capex_usd + freight > budget:
        return None
    return (plan.totals.tco_usd + freight) / plan.jobs[0].useful_pflops


@pytest.mark.parametrize("seed", [0, 10])
def test_the_mix_is_the_best_of_all_awards(seed: int, tmp_path: Path) -> None:
    changes = {"capex: 60 MUSD": "capex: 9 MUSD"} if seed % 3 == 0 else {}
    inputs, offers = problem(tmp_path, changes), random_offers(seed)
    found = judged(inputs, written(offers, tmp_path))
    expected = best_by_hand(inputs, offers)
    if expected is None:  # then some lot is nobody's
        assert found.mix is None or not all(award.bids for award in found.mix.awards[:2])
        return
    assert found.mix is not None
    assert found.mix.measured == pytest.approx(expected, rel=1e-9)
    assert found.mix.proven
    for bid in found.bids:
        whole = not any(lack.kind == "units" and lack.sku in LOTS for lack in bid.lacks)
        if bid.rank and whole and bid.measured is not None:
            assert found.mix.measured <= bid.measured * (1.0 + 1e-9)


def test_a_mix_by_hand(tmp_path: Path) -> None:
    """Boxes of one, stores and helpers of the other; a third with helpers alone is left out."""
    inputs = problem(tmp_path)
    offers = [
        Offer({"gpu_box": (40, 240_000.0), "quick_store": (4, 220_000.0)}, 0.0),
        Offer(
            {"gpu_box": (40, 280_000.0), "slow_store": (4, 70_000.0), "helper": (3, 6_000.0)},
            10_000.0,
        ),
        Offer({"helper": (3, 5_000.0)}, 0.0),
    ]
    found = judged(inputs, written(offers, tmp_path))
    assert found.mix is not None
    assert {award.lot: (award.bids, award.counts) for award in found.mix.awards} == {
        "gpu_system": (("A",), {"gpu_box": 40}),
        "storage": (("B",), {"slow_store": 4}),
        "others": (("B",), {"helper": 3}),
    }
    assert found.mix.bids == ("A", "B")
    assert found.mix.figures.capex_usd == 40 * 240_000.0 + 4 * 70_000.0 + 3 * 6_000.0 + 10_000.0


def test_a_lot_may_have_to_come_from_elsewhere(tmp_path: Path) -> None:
    """The only boxes on offer are too many for the hall; the stores do with the book's boxes."""
    changes = {"facility_power: 2 MW": "facility_power: 300 kW"}
    inputs = problem(tmp_path, changes)
    offers = [
        Offer({"gpu_box": (40, 240_000.0)}, 0.0),
        Offer({"slow_store": (4, 70_000.0)}, 0.0),
    ]
    found = judged(inputs, written(offers, tmp_path))
    assert [bid.state for bid in found.bids] == ["breaks", "meets"]
    assert found.mix is not None
    assert [award.bids for award in found.mix.awards[:2]] == [(), ("B",)]
    assert found.mix.measured == pytest.approx(found.bids[1].measured)
