"""What is known of an item that the plan does not hold, and how that is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.case.money import unit_net_usd
from planner.schema.why_not import BreakEven, Item, ItemKind
from planner.studies.why_not.study import ENOUGH, Study

VALUE_NOISE = 2e-7
"""By how much a floor may be missed, as a share."""
NOT_PREFERRED = "the problem prefers other vendors"


@dataclass
class Reason:
    """What is known so far of an item that is on offer and not in the plan."""

    name: str
    asked: bool
    impossible: bool = False
    told: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    exact: bool = False
    extra_usd: float | None = None
    priceless: bool = False
    break_even: BreakEven | None = None

    def closer(self, at_least: float | None, at_most: float | None) -> None:
        """Take over bounds on the loss where they say more than those known."""
        if at_least is not None:
            self.at_least = at_least if self.at_least is None else max(self.at_least, at_least)
        if at_most is not None:
            self.at_most = at_most if self.at_most is None else min(self.at_most, at_most)


def left_out(study: Study, asked: Sequence[str]) -> Iterator[Item]:
    """Yield the items that cannot be planned with."""
    for name, reason in study.case.not_considered:
        shown = _shown(study, name, "left_out", asked=name in asked)
        yield shown.model_copy(update={"reason": reason})


def told(study: Study, reason: Reason) -> Item:
    """Return what is known of an item as the answer has it."""
    if reason.impossible:
        shown = _shown(study, reason.name, "no_plan", asked=reason.asked)
        return shown.model_copy(update={"reason": reason.told, "exact": True})
    kind = _kind(study, reason)
    exact = kind != "open" and (reason.exact or _known_well(reason))
    disliked = kind == "as_good" and reason.name in study.case.policy.disliked
    return _shown(study, reason.name, kind, asked=reason.asked).model_copy(
        update={
            "reason": NOT_PREFERRED if disliked else None,
            "at_least": reason.at_least,
            "at_most": reason.at_most,
            "exact": exact,
            "extra_capex_usd": reason.extra_usd if kind == "as_good" else None,
            "break_even": reason.break_even,
        }
    )


def _kind(study: Study, reason: Reason) -> ItemKind:
    if reason.at_least is not None and reason.at_least >= study.tied_loss:
        return "worse"
    if reason.at_most is not None and reason.at_most <= study.tied_loss + VALUE_NOISE:
        return "as_good"
    return "open"


def _known_well(reason: Reason) -> bool:
    if reason.at_least is None or reason.at_most is None:
        return False
    return reason.at_most - reason.at_least <= ENOUGH


def _shown(study: Study, name: str, kind: ItemKind, *, asked: bool) -> Item:
    """Return what is told of an item whatever is known of plans with it."""
    item, price = study.catalog[name], study.inputs.prices.get(name)
    net_usd = None if price is None else unit_net_usd(item, price, study.inputs.discounts)
    return Item.model_validate(
        {
            "sku": name,
            "model": item.model,
            "vendor": item.vendor,
            "category": item.category,
            "kind": kind,
            "net_usd": net_usd,
            "list_usd": None if price is None else price.list_usd,
            "asked": asked,
        }
    )
