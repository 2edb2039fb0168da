"""Why this plan: binding limits and their marginal values, levers, alternatives, items left out."""

from __future__ import annotations

from collections.abc import Iterator

from planner.currency import amount, bare, currency_among
from planner.figures import OBJECTIVES, RATIOS
from planner.report import formats as fmt
from planner.report.blocks import (
    Block,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    notes_block,
    proof_block,
    words,
)
from planner.report.edition import bought_text
from planner.report.plan import idle_texts, no_plan, storage_alternatives
from planner.schema.analysis import Explanation, Forced, Item, Marginal, Moved, WhyNot
from planner.schema.plan import UNDECIDED, Plan

_SAME, _SMALL = 5e-6, 5e-7
"""Shares of the objective within the proof, and too small for a word."""
_NO_FIGURE = {"no_plan": "no plan", "at_its_end": "-", "not_decided": "not decided"}
_KINDS = ("as_good", "open", "worse", "no_plan", "left_out")
_WORSE = {"goodput": "less useful work", "useful_gpus": "fewer useful GPUs", "gpus": "fewer GPUs"}


def view(found: Explanation) -> list[Block]:
    """An explanation as blocks; of a problem without a plan, the reasons."""
    plan, why = found.plan, found.why_not
    if not plan.jobs:
        return no_plan(plan)
    scenario = plan.provenance.scenario
    title = f"Why this plan: {plan.problem}" + (f", scenario {scenario}" if scenario else "")
    idle = Text(tuple(idle_texts(plan)), "Installed and idle", points=True, detail=True)
    blocks: list[Block] = [Heading(title), Facts(tuple(_facts(found)))]
    if found.value is not None:
        blocks.append(_marginals(found))
    blocks += [_levers(found), idle, *storage_alternatives(plan, detail=True)]
    if why is not None:
        blocks.append(_items(plan, why))
    undecided = [f"{UNDECIDED}: {', '.join(found.undecided)}"] if found.undecided else []
    bound = plan.objective.bound
    proof = "" if bound is None else f"bound {_amount(found, bound)}"
    return [*blocks, notes_block(undecided), proof_block((proof, *_notes(why)))]


def _facts(found: Explanation) -> Iterator[tuple[str, str]]:
    plan, why, goal = found.plan, found.why_not, found.plan.objective
    assert goal.value is not None
    text = f"{bought_text(plan)}: {_amount(found, goal.value)}"
    if fmt.has_near_optimal_loss(goal) and goal.best is not None:
        text += f"; changes below are against the best, {_amount(found, goal.best)}"
    yield "Plan", text
    for item in why.items if why is not None else ():
        if item.asked:
            price = f"; break-even {text}" if (text := _break_even(item)) else ""
            yield "Why not", f"{item.model}: {verdict(plan, item)}{price}"
    binding = [row for row in found.marginals if row.binding]
    also = [row for row in found.marginals if _moves(found, row) and not row.binding]
    also.sort(key=lambda row: -_weight(row))
    if found.value is not None:
        texts = [_limit_text(found, row) for row in binding]
        yield "Binding", "; ".join(texts[:3]) or "no limit"
        yield "Marginal", "; ".join(_gain(found, row) for row in also[:3])
        levers = sorted(
            (row for row in found.without if not _is_same(found, row.change)),
            key=lambda row: -(float("inf") if row.change is None else abs(row.change)),
        )
        texts = [f"{row.label}: {_without_text(found, row.change)}" for row in levers[:3]]
        yield "Levers", "; ".join(texts) or ("no effect" if found.without else "")
    if why is not None:
        yield "Instead", _instead(plan, why)


def _amount(found: Explanation, value: float) -> str:
    """A value of the objective with its unit and its name."""
    name = found.plan.objective.name
    return f"{fmt.amount_of(name, value)} of {OBJECTIVES[name].label}"


# Marginal values.


def _is_same(found: Explanation, change: float | None) -> bool:
    return change is not None and abs(change) <= _SAME * abs(found.value or 1.0)


def _matters(found: Explanation, moved: Moved) -> bool:
    """True if a move changes the optimum or feasibility."""
    if moved.known in ("no_plan", "not_decided"):
        return True
    return moved.change is not None and not _is_same(found, moved.change)


def _moves(found: Explanation, row: Marginal) -> bool:
    return any(_matters(found, moved) for moved in (row.looser, row.tighter))


def _weight(row: Marginal) -> float:
    moves = (row.looser, row.tighter)
    if any(moved.known == "no_plan" for moved in moves):
        return float("inf")
    return max(abs(moved.change or 0.0) for moved in moves)


def _marginal_value(found: Explanation, moved: Moved) -> str:
    """The marginal value of a move, and the GPUs in use that it adds."""
    if moved.known in _NO_FIGURE:
        return _NO_FIGURE[moved.known]
    if not _matters(found, moved) or moved.change is None:
        return "no change"
    text = _signed(found, moved.change)
    if found.plan.objective.name == "gpus" or moved.gpus_used is None:
        return text
    more = moved.gpus_used - (found.gpus_used or found.plan.jobs[0].gpus_used)
    return f"{text} ({more:+,} GPUs)" if more else text


def _signed(found: Explanation, change: float) -> str:
    """A change of the objective with its sign; money always has its unit."""
    objective = OBJECTIVES[found.plan.objective.name]
    sign = "+" if change > 0 else "-"
    if objective.name in RATIOS:
        return f"{sign}{fmt.ratio(abs(change))}"
    if objective.figure.money:
        return f"{sign}{fmt.money(abs(change))}"
    digits = 0 if objective.name == "gpus" else 2 if abs(change) < 10 else 1
    return f"{sign}{abs(change):,.{digits}f} {objective.unit}"


def _limit_text(found: Explanation, row: Marginal) -> str:
    """A binding limit with the worth of its moves, and the next step that pays."""
    if not _moves(found, row):
        return f"{row.label} {row.text} (a step changes nothing)"
    ends = [m for m in (row.looser, row.tighter) if m.known != "at_its_end"]
    moves = ", ".join(f"{m.to_text}: {_marginal_value(found, m)}" for m in ends)
    better = "more" if found.plan.objective.sense == "maximize" else "less"
    pays = f"; {better} from {row.next_step.to_text}" if row.next_step else ""
    return f"{row.label} {row.text} ({moves}{pays})"


def _gain(found: Explanation, row: Marginal) -> str:
    """The gain of a step looser, or the loss of one tighter where nothing is gained."""
    no_gain = row.looser.known == "at_its_end" or not row.looser.change
    moved = row.tighter if no_gain else row.looser
    return f"{row.label} {row.text} to {moved.to_text}: {_marginal_value(found, moved)}"


def _marginals(found: Explanation) -> Table:
    rows = [row for row in found.marginals if _moves(found, row) or row.binding]
    rows += [row for row in found.marginals if row not in rows]

    def move(moved: Moved) -> str:
        worth = _marginal_value(found, moved)
        return worth if moved.known == "at_its_end" else f"{moved.to_text}: {worth}"

    columns = (
        words("limit", (row.label for row in rows)),
        words("", ("binding" if row.binding else "" for row in rows)),
        figures("now", (row.text for row in rows), str),
        words("a step looser", (move(row.looser) for row in rows)),
        words("a step tighter", (move(row.tighter) for row in rows)),
    )
    return Table("Marginal value of every limit", columns, rows="limits", detail=True)


# Levers.


def _without_text(found: Explanation, change: float | None) -> str:
    if change is None:
        return "no plan"
    return "no change" if _is_same(found, change) else _signed(found, change)


def _levers(found: Explanation) -> Table:
    rows = found.without
    columns = (
        words("lever", (row.label for row in rows)),
        figures("change", (_without_text(found, row.change) for row in rows), str),
        words("setting", (f"--set '{row.setting}'" for row in rows)),
    )
    return Table("Value of levers: the best plan without each", columns, detail=True)


# Alternatives, and items that are not in the plan.


def _difference(plan: Plan, row: Forced) -> str:
    less = ((row.loss or 0.0) > 0) == (plan.objective.sense == "maximize")
    share, extra = fmt.relative(row.loss), row.extra_capex_usd
    text = share if share == "0 %" else f"{'-' if less else '+'}{share}"
    if plan.objective.name == "capex" or extra is None or abs(extra) < 1.0:
        return text
    return f"{text} ({fmt.money(abs(extra))} {'dearer' if extra > 0.0 else 'cheaper'})"


def _instead(plan: Plan, why: WhyNot) -> str:
    rows = [row for row in why.forced if row.loss is not None]
    alike = [row for row in rows if (row.loss or 0.0) <= why.tie]
    worse = sorted((row for row in rows if row not in alike), key=lambda row: row.loss or 0.0)
    texts = [f"tied {fmt.join_words([row.label for row in alike])}"] if alike else []
    rivals = ", ".join(f"{row.label} {_difference(plan, row)}" for row in worse[:4])
    return "; ".join([*texts, *([f"worse {rivals}"] if rivals else [])])


def verdict(plan: Plan, item: Item) -> str:
    """The reason against an item, in a line."""
    name = plan.objective.name
    worse = _WORSE.get(name, f"more {OBJECTIVES[name].label}")
    if item.kind == "left_out":
        return f"left out: {item.reason}"
    if item.kind == "no_plan":
        return "no plan with it" + (f": {item.reason}" if item.reason and item.asked else "")
    if item.kind == "as_good":
        return _tied(item)
    if item.kind == "open":
        return "tied or worse, not computed"
    if item.exact and item.at_most is not None:
        return f"{fmt.relative(item.at_most)} {worse}"
    if item.at_least is not None and item.at_least > _SMALL:
        return f"at least {fmt.relative(item.at_least)} {worse}"
    return "worse by less than 0.0001 %"


def _tied(item: Item) -> str:
    extra, why = item.extra_capex_usd, item.reason or "chosen by order"
    if extra is None:
        return f"tied; {item.reason or 'its cost is not computed'}"
    if extra >= 1.0:
        return f"tied, {fmt.money(extra)} dearer"
    return f"tied; {why}" if extra > -1.0 else f"tied, {fmt.money(-extra)} cheaper; {why}"


def _break_even(item: Item) -> str:
    """The highest price of a unit at which an item enters the plan."""
    price = item.break_even
    if price is None:
        return ""
    if price.outcome == "no_price_helps":
        return "at no price"
    if price.outcome != "found":
        return f"not computed{f': {price.reason}' if item.asked else ''}"
    return "today's" if price.not_at_list_usd is None else amount(price.enters_at_usd, 0)


def _items(plan: Plan, why: WhyNot) -> Table:
    items = sorted(why.items, key=lambda item: (_KINDS.index(item.kind), item.at_least or 0.0))
    prices = (None if item.kind == "left_out" else item.net_usd for item in items)
    code = currency_among(each.net_usd for each in items).code
    columns = [
        words("item", (item.model for item in items)),
        words("best plan with it", (verdict(plan, item) for item in items)),
        figures(f"price, {code}", prices, bare),
    ]
    if any(item.break_even is not None for item in items):
        columns.append(figures("break-even", map(_break_even, items), str))
    return Table("Items not in the plan", tuple(columns), rows="items", detail=True)


def _notes(why: WhyNot | None) -> Iterator[str]:
    if why is None:
        return
    yield (
        "'At least' is a proven bound; other figures are of plans found and proven. Prices are per "
        "unit after discount; at break-even a plan with the item is tied, 0.5 % above none is."
    )
    if why.tie > 1e-5:
        tie = fmt.gap(why.tie)
        yield f"Plans within {tie} of the best are tied (objective.indifference): cheapest wins."
    if any(item.kind == "open" for item in why.items):
        yield "Not computed: ask with --why-not ITEM."
