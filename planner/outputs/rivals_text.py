"""Whose quote decides: what the storage must do, who could do it, and at which prices."""

from __future__ import annotations

from collections.abc import Iterator

from planner.currency import amount, bare, shown
from planner.outputs.words import INDENT, listed, money, percent, so_many, wrapped
from planner.schema.plan import Plan
from planner.schema.storage_options import OptionItem, StorageOption, StorageOptions


def headline(plan: Plan) -> str:
    """Return what any storage must do, who could do it for how much, and what would settle it."""
    found = plan.storage_options
    if found is None:
        return ""
    settled = decided(found)
    if found.choice is None and len(found.options) > 1:
        settled += "; `planner explain` has every break-even price"
    texts = (needs(plan, found), _intervals(plan, found), settled)
    return "Storage, whoever sells it\n" + "\n".join(
        line for text in texts for line in wrapped(text)
    )


def needed(found: StorageOptions) -> str:
    """Return what any storage must give; the write bandwidth is less at longer intervals."""
    writes = [option.write_needed_gb_per_s for option in found.options]
    ends = _rate(min(writes)), _rate(max(writes))
    write = ends[0] if ends[0] == ends[1] else " to ".join(ends)
    read = f", {_rate(found.read_gb_per_s)} GB/s of read" if found.read_gb_per_s else ""
    return f"needs {write} GB/s of write{read}, {found.usable_tb:,.0f} TB"


def _rate(gb_per_s: float) -> str:
    return f"{gb_per_s:,.0f}" if gb_per_s >= 10.0 else f"{gb_per_s:.2g}"


def needs(plan: Plan, found: StorageOptions) -> str:
    """Return what is needed and who gives it."""
    names = [units(option) for option in found.options]
    *first, last = names
    said = f"{', '.join(first)} or {last}" if first else last
    near = "" if plan.objective.unit == "USD" else f" within {percent(found.within)} of the best"
    return f"{needed(found)}: {said} {'do' if first else 'does'} it{near}"


def units(option: StorageOption) -> str:
    """Return what an option is made of, in words."""
    parts = listed([so_many(item.units, item.model) for item in option.items])
    if option.fewer_systems == 0:
        return parts
    systems = "system" if option.fewer_systems == 1 else "systems"
    return f"{parts} (beside {option.fewer_systems} GPU {systems} less)"


def _intervals(plan: Plan, found: StorageOptions) -> str:
    each = (
        f"{_names(option)} {money(option.low_usd)} to {money(option.high_usd)}"
        for option in found.options
    )
    return f"{_money_counted(plan, found)}: {'; '.join(each)}"


def _money_counted(plan: Plan, found: StorageOptions) -> str:
    if found.counted == "purchase":
        return "what is paid at once"
    return f"purchase, support and subscriptions over {plan.site.years:g} years"


def _names(option: StorageOption) -> str:
    return " and ".join(item.model for item in option.items)


def decided(found: StorageOptions) -> str:
    """Return who is the choice whatever is quoted, or that prices decide and what settles it."""
    if len(found.options) == 1:
        return "no other storage on offer carries it beside these GPU systems"
    if found.choice is not None:
        return f"{found.choice} is the choice: the cheapest over the whole range of prices"
    if not found.settled_by:
        two = _names(found.options[0]), _names(found.options[1])
        return (
            f"prices decide, and no single quote settles it: ask for those of {two[0]} and {two[1]}"
        )
    (option, item), *_ = _settling(found)
    article = "an" if item.model[:1] in "AEIO8" else "a"
    return (
        f"prices decide: a quote of {amount(option.sure_usd, 0)} or less for {article} {item.model}"
        f" (list {_price(item)}) settles it for {item.vendor}"
    )


def _settling(found: StorageOptions) -> list[tuple[StorageOption, OptionItem]]:
    """Return the options of which a quote within its range settles it, the likeliest first."""
    known = {item.sku: (option, item) for option in found.options for item in option.items}
    return [known[sku] for sku in found.settled_by]


def _price(item: OptionItem) -> str:
    if item.unit_list_usd is None:
        return "not known"
    low, high = bare(item.unit_low_usd), bare(item.unit_high_usd)
    return f"{bare(item.unit_list_usd)}, expected {low} to {high}"


def whose_quote(plan: Plan) -> str:
    """Return for every option at which list price of a unit it is the cheapest."""
    found = plan.storage_options
    if found is None:
        return ""
    lines = ["Whose quote decides?"]
    for text in (f"{needs(plan, found)}; {_money_counted(plan, found)}", decided(found)):
        lines += wrapped(text)
    for option in found.options:
        lines += wrapped(_break_even(option), f"{INDENT}- ", f"{INDENT}  ")
    return "\n".join(lines)


def _break_even(option: StorageOption) -> str:
    own = ", the plan's own" if option.chosen else ""
    beside = ""
    if abs(option.beside_usd) >= 0.5:
        more = "more" if option.beside_usd > 0 else "less"
        beside = f", and everything else {money(abs(option.beside_usd))} {more}"
    total = f"{units(option)}{own}: {money(option.list_usd)} at list{beside}"
    return "; ".join([total, *_thresholds(option)])


def _thresholds(option: StorageOption) -> Iterator[str]:
    if len(option.items) > 1:
        yield "several items, so no single price decides"
        return
    item = option.items[0]
    if item.purchased == 0:
        yield "owned, so no price decides"
    elif item.unit_list_usd is not None:
        yield f"a unit is listed at {_price(item)} {shown().code}"
        if option.even_usd is None:
            yield "no price makes it the cheapest with the others at list"
        else:
            yield f"the cheapest at {bare(option.even_usd)} or less with the others at list"
        if option.sure_usd is None:
            yield "never whatever the others quote"
        else:
            yield f"at {bare(option.sure_usd)} or less whatever the others quote"
