"""Why this plan and not another, whose quote decides, why there is none: in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from planner.currency import amount, bare, currency_among, currency_of
from planner.figures import OBJECTIVES, RATIOS
from planner.outputs.blocks import join_parts
from planner.outputs.words import (
    INDENT,
    about,
    fitted,
    listed,
    millions,
    money,
    number,
    percent,
    points,
    ratio,
    so_many,
    titled_points,
    wrapped,
    years,
)
from planner.schema.beside import OptionItem, StorageOption, StorageOptions
from planner.schema.infeasibility import UNDECIDED, Combined, Conflict, Infeasibility, Step
from planner.schema.plan import Plan
from planner.terminal import STANDARD, width

if TYPE_CHECKING:  # no solve makes one
    from planner.schema.explanation import (
        Explanation,
        Figures,
        Forced,
        Item,
        Marginal,
        Moved,
        WhyNot,
    )


def headline(plan: Plan) -> str:
    """Return what any storage must do, who could do it for how much, and what would settle it."""
    found = plan.storage_options
    if found is None:
        return ""
    settled = decided(plan, found)
    if found.choice is None and _contested(found):
        settled += "; `planner explain` has every break-even price"
    texts = (needs(plan, found), _intervals(plan, found), settled)
    return "Storage, whoever sells it\n" + "\n".join(
        line for text in texts for line in wrapped(text)
    )


def needed(plan: Plan, found: StorageOptions) -> str:
    """Return what any storage must give; the write bandwidth is less at longer intervals."""
    asked = {"rule_write": "write", "rule_read": "read"}
    rule = [
        f"{about(limit.limit)} GB/s of {asked[limit.name]}"
        for limit in plan.limits
        if limit.name in asked and limit.limit > 0.0
    ]
    nameplate = f", by its rule {listed(rule)} of nameplate" if rule else ""
    writes = [option.write_needed_gb_per_s for option in found.options]
    ends = about(min(writes)), about(max(writes))
    write = ends[0] if ends[0] == ends[1] else " to ".join(ends)
    read = f", {about(found.read_gb_per_s)} GB/s of read" if found.read_gb_per_s else ""
    return f"needs {write} GB/s of write{read}{nameplate}, {about(found.usable_tb)} TB"


def needs(plan: Plan, found: StorageOptions) -> str:
    """Return what is needed and who gives it."""
    names = [units(option) for option in found.options]
    *first, last = names
    text = f"{', '.join(first)} or {last}" if first else last
    several = first or sum(item.units for item in found.options[0].items) > 1
    return f"{needed(plan, found)}: {text} {'do' if several else 'does'} it{_near(plan, found)}"


def _near(plan: Plan, found: StorageOptions) -> str:
    """Return the clause on how far behind the best the options may be: of money per work the work
    counts, of money alone nothing."""
    if plan.objective.name in RATIOS:
        return f" within {percent(found.within)} of the work"
    return "" if plan.objective.unit == "USD" else f" within {percent(found.within)} of the best"


def _contested(found: StorageOptions) -> bool:
    """Return whether any option is of another vendor than the plan's."""
    return len({frozenset(item.vendor for item in each.items) for each in found.options}) > 1


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
    assert plan.site.years is not None
    return f"purchase, support and subscriptions over {years(plan.site.years)}"


def _names(option: StorageOption) -> str:
    return " and ".join(item.model for item in option.items)


def decided(plan: Plan, found: StorageOptions) -> str:
    """Return who is the choice whatever is quoted, or that prices decide and what settles it."""
    if not _contested(found):
        return f"no other vendor's does it beside these GPU systems{_near(plan, found)}"
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
        f" (list {_price_of(item)}) settles it for {item.vendor}"
    )


def _settling(found: StorageOptions) -> list[tuple[StorageOption, OptionItem]]:
    """Return the options of which a quote within its range settles it, the likeliest first."""
    known = {item.sku: (option, item) for option in found.options for item in option.items}
    return [known[sku] for sku in found.settled_by]


def _price_of(item: OptionItem) -> str:
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
    for text in (f"{needs(plan, found)}; {_money_counted(plan, found)}", decided(plan, found)):
        lines += wrapped(text)
    for option in found.options:
        lines += points(_break_even(found, option))
    return "\n".join(lines)


def _break_even(found: StorageOptions, option: StorageOption) -> str:
    own = ", the plan's own" if option.chosen else ""
    beside = ""
    if abs(option.beside_usd) >= 0.5:
        more = "more" if option.beside_usd > 0 else "less"
        beside = f", and everything else {money(abs(option.beside_usd))} {more}"
    total = f"{units(option)}{own}: {money(option.list_usd)} at list{beside}"
    return "; ".join([total, *_thresholds(found, option)])


def _thresholds(found: StorageOptions, option: StorageOption) -> Iterator[str]:
    if len(option.items) > 1:
        yield "several items, so no single price decides"
        return
    item = option.items[0]
    if item.purchased == 0:
        yield "owned, so no price decides"
    elif item.unit_list_usd is not None:
        yield f"a unit is listed at {_price_of(item)} {currency_of(item.unit_list_usd).code}"
        if not _contested(found):
            yield "no other vendor's does it"
            return
        if option.even_usd is None:
            yield "no price makes it the cheapest with the others at list"
        else:
            yield f"the cheapest at {bare(option.even_usd)} or less with the others at list"
        if option.sure_usd is None:
            yield "never whatever the others quote"
        else:
            yield f"at {bare(option.sure_usd)} or less whatever the others quote"


_SAME = 5e-6
"""A share of the objective that counts as no change: it is within the proof."""

_FEW = 0.005
_WITHOUT_FIGURE = {
    "no_plan": "no plan is left",
    "at_its_end": "cannot be moved further",
    "not_decided": "not decided",
}


def holds(found: Explanation, row: Marginal) -> bool:
    """Say whether moving a limit either way changes anything."""
    return any(matters(found, moved) for moved in (row.looser, row.tighter))


def matters(found: Explanation, moved: Moved) -> bool:
    """Say whether a move changes the best objective, or what is possible at all."""
    if moved.known in ("no_plan", "not_decided"):
        return True
    return moved.change is not None and not small(found, moved.change)


def small(found: Explanation, change: float) -> bool:
    """Say whether a change of the objective is within its proof."""
    return abs(change) <= _SAME * abs(found.value or 1.0)


def worth(found: Explanation, moved: Moved, *, unit: bool = True) -> str:
    """Return what a move does to the objective, in words, without its unit if that is told."""
    if moved.known in _WITHOUT_FIGURE:
        return _WITHOUT_FIGURE[moved.known]
    if not matters(found, moved) or moved.change is None:
        return "no change"
    change = signed(found, moved.change, unit=unit)
    gpus = _gpus(found, moved)
    return f"{change} ({gpus})" if gpus else change


def signed(found: Explanation, change: float, *, unit: bool = True) -> str:
    """Return a change of the objective with its sign and unit; money always has one."""
    objective = OBJECTIVES[found.plan.objective.name]
    sign = "+" if change > 0 else "-"
    if objective.name in RATIOS:
        return f"{sign}{ratio(abs(change))}"
    if objective.figure.money:
        return f"{sign}{money(abs(change))}"
    digits = 0 if objective.name == "gpus" else 2 if abs(change) < 10 else 1
    text = f"{sign}{abs(change):,.{digits}f}" if abs(change) >= _FEW else f"{sign}{abs(change):.1g}"
    what = objective.label if objective.figure.names_unit(objective.unit) else objective.unit
    return f"{text} {what}" if unit else text


def _gpus(found: Explanation, moved: Moved) -> str:
    """Return how many GPUs more or fewer run then, where the objective is not GPUs itself."""
    if found.plan.objective.name == "gpus" or moved.gpus_used is None or not found.plan.jobs:
        return ""
    more = moved.gpus_used - (found.gpus_used or found.plan.jobs[0].gpus_used)
    return f"{more:+,} GPUs" if more else ""


_MORE = f"{INDENT}{INDENT}"


def explanation(found: Infeasibility) -> str:
    """Return the explanation in paragraphs."""
    parts = [
        "\n".join(line for reason in found.reasons for line in wrapped(reason, "")),
        *(_conflict(one) for one in found.conflicts),
    ]
    parts += [_changes(found.changes), _combined(found), _undecided(found)]
    return "\n\n".join(part for part in parts if part)


def conflict_title(count: int) -> str:
    """Return what is said of so many limits that cannot hold together."""
    if count == 1:
        return "Cannot be met, whatever is bought"
    if count == 2:
        return "Cannot hold together, though either could be met without the other"
    return "Cannot hold together, though any of them could be met without the others"


def _conflict(conflict: Conflict) -> str:
    names = [limit.in_words for limit in conflict.limits]
    return titled_points(conflict_title(len(names)), names)


def _changes(changes: tuple[Step, ...]) -> str:
    if not changes:
        return ""
    title = "Any one of these changes gives a plan"
    if len(changes) == 1:
        title = "This change gives a plan"
    return "\n".join([title, *(line for step in changes for line in _change(step))])


def _change(step: Step) -> Iterator[str]:
    yield from points(step.in_words)
    if step.because:
        asks = listed([f"{limit.label} {limit.text}".rstrip() for limit in step.because])
        yield from wrapped(f"no smaller change, because of {asks}", _MORE, _MORE)
    if step.value is None:
        settings = " ".join(f"--set {setting!r}" for setting in step.settings)
        yield from wrapped(settings, _MORE, _MORE)


def _combined(found: Infeasibility) -> str:
    combined = found.combined
    if combined is None:
        return ""
    title = "These changes together give a plan"
    if found.changes:
        title = "A smaller change of several limits together gives a plan, too"
    lines = [title, *(line for step in combined.steps for line in _change(step))]
    return "\n".join([*lines, *wrapped(combined_proof(combined))])


def combined_proof(combined: Combined) -> str:
    """Return how small a change of several is proven to be."""
    if combined.weighted is None or combined.bound is None:
        return "each is as small as it can be with the others; another choice may be smaller in sum"
    return (
        f"together {percent(combined.weighted)} of change, each counted as a share of its limit; "
        f"proven: no changes of limits add up to less than {percent(combined.bound)}"
    )


def _undecided(found: Infeasibility) -> str:
    if not found.undecided:
        return ""
    return "\n".join(wrapped(f"{UNDECIDED}: {', '.join(found.undecided)}", ""))


_WORSE = {
    "goodput": "does {share} less useful work",
    "useful_gpus": "has {share} fewer useful GPUs",
    "gpus": "uses {share} fewer GPUs",
    "cost": "costs {share} more",
    "tco": "costs {share} more over the term",
    "power": "draws {share} more power",
    "usd_per_useful_gpu_hour": "costs {share} more per useful GPU-hour",
    "usd_per_million_tokens": "costs {share} more per million tokens",
}
_SMALL = 5e-7
"""A share of the objective below which nothing is worth telling."""


def share(value: float) -> str:
    """Return a share of the objective with as many digits as it needs."""
    size = abs(value)
    digits = 1 if size >= 0.1 else 2 if size >= 0.001 else 3 if size >= 0.0001 else 4
    return percent(size, digits)


def by_how_much(why: WhyNot, loss: float, *, at_least: bool = False) -> str:
    """Return a loss in words: how much less work, or how much more money."""
    text = f"at least {share(loss)}" if at_least else share(loss)
    more = f"has {{share}} more {OBJECTIVES[why.objective].label}"
    return _WORSE.get(why.objective, more).format(share=text)


def difference(why: WhyNot, row: Forced) -> str:
    """Return how much more or less of the objective a forced plan has."""
    if row.loss is None:
        return ""
    if abs(row.loss) < _SMALL or -why.tie <= row.loss < 0:  # better by no more than ties give away
        return "0 %"
    less = (row.loss > 0) == (why.sense == "maximize")
    return f"{'-' if less else '+'}{share(row.loss)}"


def verdict(why: WhyNot, item: Item, *, money_shown: bool = True) -> str:
    """Return in one line why an item is not in the plan.

    Args:
        why: what it is part of.
        money_shown: whether amounts of money may be named.
    """
    if item.kind == "left_out":
        return f"left out: {item.reason}"
    if item.kind == "no_plan":
        return "no plan holds even one"
    if item.kind == "as_good":
        return _as_good(item) if money_shown else "is just as good"
    if item.kind == "open":
        return "is as good or worse: to be asked for"
    if item.exact and item.at_most is not None:
        return by_how_much(why, item.at_most)
    if item.at_least is not None and item.at_least > _SMALL:
        return by_how_much(why, item.at_least, at_least=True)
    return "is worse, by very little"


def _as_good(item: Item) -> str:
    extra, why = item.extra_capex_usd, item.reason
    if extra is None:
        return f"is just as good; {why or 'its cost is not computed'}"
    if abs(extra) < 1.0:
        return f"is just as good; {why or 'ties decided'}"
    if extra < 0:
        return f"is just as good, {money(-extra)} cheaper; {why or 'ties decided'}"
    return f"is just as good, but {money(extra)} dearer"


def price_today(item: Item) -> str:
    """Return what a unit costs today, after discount."""
    if item.kind == "left_out":
        return ""
    return "" if item.net_usd is None else bare(item.net_usd)


def enters(item: Item) -> str:
    """Return at which price of a unit an item enters the plan."""
    price = item.break_even
    if price is None:
        return ""
    if price.outcome == "no_price_helps":
        return "at no price"
    if price.outcome == "not_computed":
        return "not computed"
    if price.not_at_usd is None:
        return "at today's"
    return bare(price.enters_at_usd)


def details(why: WhyNot, item: Item) -> list[str]:
    """Return what there is to tell of an item that was asked for, in sentences."""
    if item.kind == "left_out":
        return [f"It cannot be planned with: {item.reason}."]
    if item.kind == "no_plan":
        because = f": {item.reason}" if item.reason else ""
        return [f"No plan of this problem holds even one unit of it{because}."]
    return [_standing(why, item), *_price(item)]


def _standing(why: WhyNot, item: Item) -> str:
    if item.kind == "as_good":
        tie = f" within {share(why.tie)}, which is what the problem calls equal"
        costs = _as_good(item).removeprefix("is just as good").lstrip(",; ")
        return f"A plan with it is just as good{tie}: {costs}."
    if item.kind == "open":
        return "Bounds alone do not tell whether a plan with it is just as good."
    if item.exact and item.at_most is not None:
        return f"The best plan with it {by_how_much(why, item.at_most)} (found and proven)."
    least = by_how_much(why, item.at_least or 0.0, at_least=True)
    return f"Any plan with it {least} (proven)."


def _price(item: Item) -> list[str]:
    price = item.break_even
    if price is None:
        return []
    if price.outcome == "not_computed":
        return [f"No break-even price: {price.reason}."]
    if price.outcome == "no_price_helps":
        return ["No price helps: even for nothing the plan would not change."]
    assert price.enters_at_usd is not None
    if price.not_at_usd is None:
        return ["At today's price it would do as well."]
    units = "one unit" if price.units == 1 else f"{price.units:,} units"
    text = (
        f"It enters the plan ({units}) at {amount(price.enters_at_usd)} a unit or less, and not "
        f"at {amount(price.not_at_usd)}; today it is {amount(item.net_usd)}"
    )
    if item.list_usd != item.net_usd:
        at = price.enters_at_list_usd
        text += f" (list prices: {amount(at)}, and {amount(item.list_usd)} today)"
    return [f"{text}."]


GROUPS = {
    "storage_vendor": "Another storage vendor",
    "gpu_type": "Another GPU system",
}
_LABEL, _NAME, _VERDICT = 26, 28, 43
_HEADERS = ("against", "GPUs", "storage", "capex M", "TCO M", "IT kW", "days")
_WIDTHS = (_LABEL, 8, 9, 8, 8, 8, 8, 9, 7)
_KINDS = ("as_good", "open", "worse", "no_plan", "left_out")


def ordered(items: Sequence[Item]) -> list[Item]:
    """Return items as they are listed: the nearest to the plan first."""
    return sorted(items, key=lambda item: (_KINDS.index(item.kind), item.at_least or 0.0))


def render(why: WhyNot) -> str:
    """Return the whole text, at most 100 columns wide."""
    if why.message or why.plan is None:
        parts = ["\n".join(wrapped(why.message or "", ""))]
    else:
        parts = [*_asked(why), _side_by_side(why, why.plan), _items(why), *_notes(why)]
    return join_parts(parts)


def _asked(why: WhyNot) -> Iterator[str]:
    """Yield each answer to what was asked for."""
    for item in why.items:
        if item.asked:
            lines = [line for text in details(why, item) for line in wrapped(text)]
            yield "\n".join([f"Why not {item.model} ({item.sku})", *lines])


def _side_by_side(why: WhyNot, plan: Figures) -> str:
    label = OBJECTIVES[why.objective].label
    title = f"Side by side with the plan; 'against' is the change in {label}"
    work = "useful" if plan.useful_pflops is None else "PFLOP/s"
    lines = [title, _row(("", work, *_HEADERS)), _row(("this plan", *_cells(plan, "")))]
    group = ""
    for row in why.forced:
        if row.kind != group:
            group = row.kind
            lines.append(f"{INDENT}{GROUPS[group]}")
        lines.append(_forced(why, row))
    return "\n".join(lines)


def _forced(why: WhyNot, row: Forced) -> str:
    if row.figures is None:
        reason = row.reason or UNDECIDED
        text = f"{INDENT}  {fitted(row.label, _LABEL - 2):<{_LABEL - 2}}  {reason}"
        return fitted(text, max(STANDARD, width()))
    return _row((f"  {row.label}", *_cells(row.figures, difference(why, row))))


def _cells(figures: Figures, against: str) -> tuple[str, ...]:
    """Return the figures of a plan: useful PFLOP/s where known, else useful GPUs."""
    work = figures.useful_gpus if figures.useful_pflops is None else figures.useful_pflops
    return (
        number(work, 1 if work < 1000 else 0),
        against,
        number(figures.gpus_used),
        number(figures.appliances),
        millions(figures.capex_usd),
        millions(figures.tco_usd),
        "" if figures.it_power_kw is None else number(figures.it_power_kw, 1),
        "" if figures.days_to_train is None else number(figures.days_to_train, 1),
    )


def _row(cells: Sequence[str]) -> str:
    first = f"{fitted(cells[0], _LABEL):<{_LABEL}}"
    rest = (cell.rjust(width) for cell, width in zip(cells[1:], _WIDTHS[1:], strict=True))
    return f"{INDENT}{first}{' '.join(rest)}".rstrip()


def _items(why: WhyNot) -> str:
    if not why.items:
        return ""
    lines = ["Not in the plan", _entry("", "the best plan with it", "price today", "enters at")]
    lines += [
        _entry(item.sku, verdict(why, item), price_today(item), enters(item))
        for item in ordered(why.items)
    ]
    return "\n".join(lines)


def _entry(name: str, text: str, price: str, entering: str) -> str:
    left = f"{fitted(name, _NAME):<{_NAME}} "
    if not price and not entering:
        room = max(STANDARD, width()) - len(INDENT) - len(left)
        return f"{INDENT}{left}{fitted(text, room)}".rstrip()
    return f"{INDENT}{left}{fitted(text, _VERDICT):<{_VERDICT}} {price:>11} {entering:>13}".rstrip()


def _notes(why: WhyNot) -> Iterator[str]:
    code = currency_among(item.net_usd for item in why.items).code
    notes = [
        "'At least' is a bound that no plan passes; the other figures belong to plans that were "
        f"found and proven. Prices are for one unit after discount, in {code}: at "
        "'enters at' a plan with the item is as good as this one, and half a percent above that "
        "none is.",
    ]
    if why.tie > 1e-5:
        notes.append(
            f"Plans within {percent(why.tie, 3)} of the best count as equally good "
            "(objective.indifference): then the cheaper one is taken."
        )
    if any(_waits(item) for item in why.items):
        notes.append("What is not told or not computed: ask for it with --why-not ITEM.")
    yield "\n".join(line for note in notes for line in wrapped(note))


def _waits(item: Item) -> bool:
    price = item.break_even
    open_price = (
        price is not None
        and price.outcome == "not_computed"
        and "--why-not" in (price.reason or "")
    )
    return item.kind == "open" or open_price
