"""Storage alternatives of a plan: what any storage must deliver, prices, break-even quotes."""

from __future__ import annotations

from collections.abc import Iterator

from planner.currency import amount, bare, currency_of
from planner.figures import RATIOS
from planner.report.blocks import Text
from planner.report.words import about, listed, money, percent, so_many, years
from planner.schema.layout import OptionItem, StorageOption, StorageOptions
from planner.schema.plan import Plan


def needed(plan: Plan, found: StorageOptions) -> str:
    """The bandwidth and capacity required of any storage."""
    kinds = {"rule_write": "write", "rule_read": "read"}
    rule = [
        f"{about(limit.limit)} GB/s of {kinds[limit.name]}"
        for limit in plan.limits
        if limit.name in kinds and limit.limit > 0.0
    ]
    nameplate = f", by its rule {listed(rule)} of nameplate" if rule else ""
    writes = [option.write_needed_gb_per_s for option in found.options]
    ends = about(min(writes)), about(max(writes))
    write = ends[0] if ends[0] == ends[1] else " to ".join(ends)
    read = f", {about(found.read_gb_per_s)} GB/s of read" if found.read_gb_per_s else ""
    return f"needs {write} GB/s of write{read}{nameplate}, {about(found.usable_tb)} TB"


def alternatives(plan: Plan, found: StorageOptions) -> str:
    """The options that meet the requirement."""
    *first, last = [units(option) for option in found.options]
    text = f"{', '.join(first)} or {last}" if first else last
    return f"{text}{_near(plan, found)}"


def _near(plan: Plan, found: StorageOptions) -> str:
    """The tolerance of the options; of an objective of money alone there is none."""
    if plan.objective.name in RATIOS:
        return f" within {percent(found.within)} of the work"
    return "" if plan.objective.unit == "USD" else f" within {percent(found.within)} of the best"


def _contested(found: StorageOptions) -> bool:
    return len({frozenset(item.vendor for item in each.items) for each in found.options}) > 1


def units(option: StorageOption) -> str:
    """An option as units with their models."""
    parts = listed([so_many(item.units, item.model) for item in option.items])
    if option.fewer_systems == 0:
        return parts
    systems = "system" if option.fewer_systems == 1 else "systems"
    return f"{parts} (beside {option.fewer_systems} GPU {systems} less)"


def decided(plan: Plan, found: StorageOptions) -> str:
    """The choice, or the quote that decides it."""
    if not _contested(found):
        return f"no other vendor's storage fits these GPU systems{_near(plan, found)}"
    if found.choice is not None:
        return f"{found.choice} is the cheapest over the whole range of prices"
    if not found.settled_by:
        two = [" and ".join(item.model for item in option.items) for option in found.options[:2]]
        return f"price-sensitive: request quotes of {listed(two)}, no single one decides"
    known = {item.sku: (option, item) for option in found.options for item in option.items}
    option, item = known[found.settled_by[0]]
    return (
        f"price-sensitive: {item.vendor} wins at {amount(option.sure_usd, 0)} or less per "
        f"{item.model} (list {_price_of(item)})"
    )


def _price_of(item: OptionItem) -> str:
    if item.unit_list_usd is None:
        return "not known"
    low, high = bare(item.unit_low_usd), bare(item.unit_high_usd)
    return f"{bare(item.unit_list_usd)}, expected {low} to {high}"


def blocks(plan: Plan, *, detail: bool = False) -> Iterator[Text]:
    """Yield requirement, deciding quote, and the break-even prices of every option."""
    found = plan.storage_options
    if found is None:
        return
    counted = "purchase price"
    if found.counted != "purchase" and plan.site.years is not None:
        counted = f"purchase, support and subscriptions over {years(plan.site.years)}"
    texts = (
        f"{needed(plan, found)}; money: {counted}",
        decided(plan, found),
        *(_break_even(found, option) for option in found.options),
    )
    yield Text(texts, "Storage alternatives", points=True, detail=detail)


def _break_even(found: StorageOptions, option: StorageOption) -> str:
    own = ", in the plan" if option.chosen else ""
    beside = ""
    if abs(option.beside_usd) >= 0.5:
        more = "more" if option.beside_usd > 0 else "less"
        beside = f", everything else {money(abs(option.beside_usd))} {more}"
    span = f"{money(option.low_usd)} to {money(option.high_usd)}"
    total = f"{units(option)}{own}: {money(option.list_usd)} at list ({span}){beside}"
    return "; ".join([total, *_thresholds(found, option)])


def _thresholds(found: StorageOptions, option: StorageOption) -> Iterator[str]:
    if len(option.items) > 1:
        yield "several items, no single break-even price"
        return
    item = option.items[0]
    if item.purchased == 0:
        yield "owned, no price decides"
    elif item.unit_list_usd is not None:
        yield f"list price of a unit {_price_of(item)} {currency_of(item.unit_list_usd).code}"
        if not _contested(found):
            return
        if option.even_usd is None:
            yield "no price makes it the cheapest with the others at list"
        else:
            yield f"cheapest at {bare(option.even_usd)} or less with the others at list"
        if option.sure_usd is None:
            yield "never at every price of the others"
        else:
            yield f"at {bare(option.sure_usd)} or less at every price of the others"
