"""Why this plan: binding limits and their marginal values, levers, alternatives, items left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.currency import bare, currency_among
from planner.figures import OBJECTIVES, RATIOS
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
from planner.report.scope import decided_lines
from planner.report.views.plan import idle_texts, no_plan, storage_alternatives, storage_decided
from planner.report.words import (
    counted,
    gives_away,
    listed,
    money,
    percent,
    product,
    ratio,
    relative,
    so_many,
    some,
)
from planner.schema.explanation import Explanation, Forced, Item, Marginal, Moved, WhyNot
from planner.schema.plan import UNDECIDED

_SAME, _FEW, _SMALL = 5e-6, 0.005, 5e-7
"""Shares of the objective within the proof, too small for digits, and too small for a word."""
_MOST_BINDING, _MOST_GAINS, _MOST_LEVERS, _MOST_IDLE = 3, 3, 3, 5
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
    idle = Text(tuple(idle_texts(plan, fix=True)), "Installed and idle", points=True, detail=True)
    blocks: list[Block] = [Heading(title), Facts(tuple(_facts(found)))]
    if found.value is not None:
        blocks.append(_marginals(found))
    blocks += [_levers_table(found), idle, *storage_alternatives(plan, detail=True)]
    if why is not None and why.message is None:
        blocks.append(_items(why))
    elif why is not None:
        blocks.append(Text((why.message or "",)))
    undecided = [f"{UNDECIDED}: {', '.join(found.undecided)}"] if found.undecided else []
    bound = plan.objective.bound
    proof = "" if bound is None else f"bound {_amount(found, bound)}"
    return [*blocks, notes_block(undecided), proof_block((proof, *_notes(why)))]


def _facts(found: Explanation) -> Iterator[tuple[str, str]]:
    plan, why, goal = found.plan, found.why_not, found.plan.objective
    assert goal.value is not None
    text = listed([so_many(line.working, product(line)) for line in decided_lines(plan)])
    text += f": {_amount(found, goal.value)}"
    if gives_away(goal) and goal.best is not None:
        text += f"; changes below are against the best, {_amount(found, goal.best)}"
    yield "Plan", text
    for item in why.items if why is not None else ():
        if item.asked and why is not None:
            price = f"; break-even {text}" if (text := _enters(item)) else ""
            yield "Why not", f"{item.model}: {verdict(why, item)}{price}"
    binding = [row for row in found.marginals if row.binding]
    also = [row for row in found.marginals if _moves(found, row) and not row.binding]
    also.sort(key=lambda row: -_weight(row))
    if found.value is not None:
        yield "Binding", _binding(found, binding)
        yield "Marginal", "; ".join(_gain(found, row) for row in also[:_MOST_GAINS])
        yield "Levers", _levers(found)
    if why is not None and why.message is None:
        yield "Instead", _instead(why)
    if plan.storage_options is not None:
        yield "Prices", storage_decided(plan, plan.storage_options)
    idle = [row for row in found.marginals if row not in binding and row not in also]
    names = some([f"{row.label} {row.text}" for row in idle], _MOST_IDLE)
    yield "Non-binding", f"{counted(len(idle), 'limit')}: {names}" if idle else ""


def _amount(found: Explanation, value: float) -> str:
    """A value of the objective with its unit."""
    name = found.plan.objective.name
    if name in RATIOS:
        return f"{ratio(value)} as the {OBJECTIVES[name].label}"
    if found.plan.objective.unit == "USD":
        return f"{money(value)} of {OBJECTIVES[name].counted}"
    return f"{value:,.2f} {OBJECTIVES[name].counted}"


# Marginal values.


def _matters(found: Explanation, moved: Moved) -> bool:
    """Whether a move changes the best objective, or what is possible at all."""
    if moved.known in ("no_plan", "not_decided"):
        return True
    return moved.change is not None and not _is_same(found, moved.change)


def _moves(found: Explanation, row: Marginal) -> bool:
    return any(_matters(found, moved) for moved in (row.looser, row.tighter))


def _is_same(found: Explanation, change: float) -> bool:
    return abs(change) <= _SAME * abs(found.value or 1.0)


def _weight(row: Marginal) -> float:
    moves = (row.looser, row.tighter)
    if any(moved.known == "no_plan" for moved in moves):
        return float("inf")
    return max(abs(moved.change or 0.0) for moved in moves)


def _worth(found: Explanation, moved: Moved, *, unit: bool = True) -> str:
    """The marginal value of a move, and the GPUs in use that it adds."""
    if moved.known in _NO_FIGURE:
        return _NO_FIGURE[moved.known]
    if not _matters(found, moved) or moved.change is None:
        return "no change"
    text = _signed(found, moved.change, unit=unit)
    if found.plan.objective.name == "gpus" or moved.gpus_used is None:
        return text
    more = moved.gpus_used - (found.gpus_used or found.plan.jobs[0].gpus_used)
    return f"{text} ({more:+,} GPUs)" if more else text


def _signed(found: Explanation, change: float, *, unit: bool = True) -> str:
    """A change of the objective with its sign and unit; money always has one."""
    objective = OBJECTIVES[found.plan.objective.name]
    sign = "+" if change > 0 else "-"
    if objective.name in RATIOS:
        return f"{sign}{ratio(abs(change))}"
    if objective.figure.money:
        return f"{sign}{money(abs(change))}"
    digits = 0 if objective.name == "gpus" else 2 if abs(change) < 10 else 1
    text = f"{sign}{abs(change):,.{digits}f}" if abs(change) >= _FEW else f"{sign}{abs(change):.1g}"
    named = objective.label if objective.figure.names_unit else objective.unit
    return f"{text} {named}" if unit else text


def _binding(found: Explanation, binding: Sequence[Marginal]) -> str:
    held = [row for row in binding if _moves(found, row)]
    loose = [row.label for row in binding if row not in held]
    better = "more" if found.plan.objective.sense == "maximize" else "less"
    texts = []
    for row in held[:_MOST_BINDING]:
        ends = [m for m in (row.looser, row.tighter) if m.known != "at_its_end"]
        moves = ", ".join(f"{m.to_text}: {_worth(found, m)}" for m in ends)
        step = row.next_step
        pays = f"; {better} from {step.to_text}" if step else ""
        texts.append(f"{row.label} {row.text} ({moves}{pays})")
    texts += [f"{len(held) - _MOST_BINDING} more"] if len(held) > _MOST_BINDING else []
    texts += [f"{listed(loose)} (a step changes nothing)"] if loose else []
    return "; ".join(texts) or "no limit"


def _gain(found: Explanation, row: Marginal) -> str:
    """The gain of a step looser, or the loss of one tighter where nothing is gained."""
    no_gain = row.looser.known in ("at_its_end", "no_limit_helps") or not row.looser.change
    moved = row.tighter if no_gain else row.looser
    return f"{row.label} {row.text} to {moved.to_text}: {_worth(found, moved)}"


def _marginals(found: Explanation) -> Table:
    rows = [row for row in found.marginals if _moves(found, row) or row.binding]
    rows += [row for row in found.marginals if row not in rows]

    def move(moved: Moved) -> str:
        worth = _worth(found, moved, unit=False)
        return worth if moved.known == "at_its_end" else f"{moved.to_text}: {worth}"

    columns = (
        words("limit", (row.label for row in rows)),
        words("", ("binding" if row.binding else "" for row in rows)),
        figures("now", (row.text for row in rows), str),
        words("a step looser", (move(row.looser) for row in rows)),
        words("a step tighter", (move(row.tighter) for row in rows)),
    )
    named = OBJECTIVES[found.plan.objective.name].counted
    return Table(f"Marginal value of every limit, {named}", columns, rows="limits", detail=True)


# Levers.


def _without_text(found: Explanation, change: float | None) -> str:
    if change is None:
        return "no plan"
    return "no change" if _is_same(found, change) else _signed(found, change)


def _levers(found: Explanation) -> str:
    changes = sorted(
        (row for row in found.without if row.change is None or not _is_same(found, row.change)),
        key=lambda row: -(float("inf") if row.change is None else abs(row.change)),
    )
    texts = [f"{row.label}: {_without_text(found, row.change)}" for row in changes[:_MOST_LEVERS]]
    return "; ".join(texts) or ("no effect" if found.without else "")


def _levers_table(found: Explanation) -> Table:
    rows = found.without
    columns = (
        words("lever", (row.label for row in rows)),
        figures("change", (_without_text(found, row.change) for row in rows), str),
        words("setting", (f"--set '{row.setting}'" for row in rows)),
    )
    return Table("Value of levers: the best plan without each", columns, detail=True)


# Alternatives, and items that are not in the plan.


def _difference(why: WhyNot, row: Forced) -> str:
    if row.loss is None or row.loss == 0:
        return "" if row.loss is None else "0 %"
    less = (row.loss > 0) == (why.sense == "maximize")
    return f"{'-' if less else '+'}{relative(row.loss)}"


def _instead(why: WhyNot) -> str:
    rows = [row for row in why.forced if row.loss is not None]
    alike = [row for row in rows if (row.loss or 0.0) <= why.tie]
    worse = sorted((row for row in rows if row not in alike), key=lambda row: row.loss or 0.0)
    texts = [f"tied {listed([row.label for row in alike])}"] if alike else []
    shown = worse[:_MOST_GAINS] + worse[_MOST_GAINS:][-1:]
    rivals = ", ".join(f"{row.label} {_difference(why, row)}" for row in shown)
    return "; ".join([*texts, *([f"worse {rivals}"] if rivals else [])])


def _loss(why: WhyNot, loss: float, *, at_least: bool = False) -> str:
    worse = _WORSE.get(why.objective, f"more {OBJECTIVES[why.objective].label}")
    return f"{'at least ' if at_least else ''}{relative(loss)} {worse}"


def verdict(why: WhyNot, item: Item) -> str:
    """The reason against an item, in a line."""
    if item.kind == "left_out":
        return f"left out: {item.reason}"
    if item.kind == "no_plan":
        return "no plan with it" + (f": {item.reason}" if item.reason and item.asked else "")
    if item.kind == "as_good":
        return _tied(item)
    if item.kind == "open":
        return "tied or worse, not computed"
    if item.exact and item.at_most is not None:
        return _loss(why, item.at_most)
    if item.at_least is not None and item.at_least > _SMALL:
        return _loss(why, item.at_least, at_least=True)
    return "worse by less than 0.0001 %"


def _tied(item: Item) -> str:
    extra, why = item.extra_capex_usd, item.reason
    if extra is None:
        return f"tied; {why or 'its cost is not computed'}"
    if abs(extra) < 1.0:
        return f"tied; {why or 'chosen by order'}"
    if extra < 0:
        return f"tied, {money(-extra)} cheaper; {why or 'chosen by order'}"
    return f"tied, {money(extra)} dearer"


def _enters(item: Item) -> str:
    """The highest price of a unit at which an item enters the plan."""
    price = item.break_even
    if price is None:
        return ""
    if price.outcome == "no_price_helps":
        return "at no price"
    if price.outcome != "found":
        return f"not computed{f': {price.reason}' if item.asked else ''}"
    return "today's" if price.not_at_usd is None else bare(price.enters_at_usd)


def _items(why: WhyNot) -> Table:
    items = sorted(why.items, key=lambda item: (_KINDS.index(item.kind), item.at_least or 0.0))
    prices = (None if item.kind == "left_out" else item.net_usd for item in items)
    code = currency_among(each.net_usd for each in items).code
    columns = (
        words("item", (item.model for item in items)),
        words("best plan with it", (verdict(why, item) for item in items)),
        figures(f"price, {code}", prices, bare),
        figures("break-even", map(_enters, items), str),
    )
    return Table("Items not in the plan", columns, rows="items", detail=True)


def _notes(why: WhyNot | None) -> Iterator[str]:
    if why is None or why.message is not None:
        return
    yield (
        "'At least' is a proven bound; other figures are of plans found and proven. Prices are per "
        "unit after discount; at break-even a plan with the item is tied, 0.5 % above none is."
    )
    if why.tie > 1e-5:
        tie = percent(why.tie, 3)
        yield f"Plans within {tie} of the best are tied (objective.indifference): cheapest wins."
    if any(item.kind == "open" for item in why.items):
        yield "Not computed: ask with --why-not ITEM."
