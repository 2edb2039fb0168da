"""Why this plan: binding limits and their marginal values, levers, alternatives, items left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.currency import amount, bare, currency_among
from planner.figures import OBJECTIVES, RATIOS
from planner.report.blocks import (
    PAGE,
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    notes_block,
    proof_block,
)
from planner.report.scope import decided_lines
from planner.report.views import storage_options
from planner.report.views.plan import idle_texts, no_plan
from planner.report.words import (
    counted,
    gives_away,
    listed,
    millions,
    money,
    number,
    percent,
    product,
    ratio,
    so_many,
)
from planner.schema.explanation import (
    Explanation,
    Figures,
    Forced,
    Item,
    Marginal,
    Moved,
    WhyNot,
)
from planner.schema.plan import UNDECIDED

_SAME, _FEW, _SMALL = 5e-6, 0.005, 5e-7
"""Shares of the objective within the proof, too small for digits, and too small for a word."""
_MOST_BINDING, _MOST_GAINS, _MOST_LEVERS, _MOST_IDLE, _FIRST_ITEMS = 3, 3, 3, 5, 8
_NO_FIGURE = {"no_plan": "no plan", "at_its_end": "-", "not_decided": "not decided"}
_GROUPS = {"storage_vendor": "storage", "gpu_type": "GPU system"}
_KINDS = ("as_good", "open", "worse", "no_plan", "left_out")
_WORSE = {
    "goodput": "{share} less useful work", "useful_gpus": "{share} fewer useful GPUs",
    "gpus": "{share} fewer GPUs", "cost": "{share} more capex", "tco": "{share} more TCO",
    "power": "{share} more power",
    "usd_per_useful_gpu_hour": "{share} more per useful GPU-hour",
    "usd_per_million_tokens": "{share} more per million tokens",
}  # fmt: skip


def view(found: Explanation) -> list[Block]:
    """Return an explanation as blocks; of a problem without a plan, why there is none."""
    plan = found.plan
    if not plan.jobs:
        return no_plan(plan)
    scenario = plan.provenance.scenario
    title = f"Why this plan: {plan.problem}" + (f", scenario {scenario}" if scenario else "")
    why = found.why_not
    blocks: list[Block] = [Heading(title), Facts(tuple(_facts(found)))]
    if found.value is not None:
        blocks.append(_marginals(found))
    if found.without:
        blocks.append(_without(found))
    blocks += [
        Text(tuple(idle_texts(plan, fix=True)), "Installed and idle", points=True,
             detail=True),
        *storage_options.blocks(plan, detail=True),
    ]  # fmt: skip
    if why is not None and why.plan is not None:
        blocks += [_alternatives(why, why.plan), _items(why)]
    elif why is not None:
        blocks.append(Text((why.message or "",)))
    undecided = [f"{UNDECIDED}: {', '.join(found.undecided)}"] if found.undecided else []
    bound = plan.objective.bound
    proof = "" if bound is None else f"bound {_amount(found, bound)}"
    return [*blocks, notes_block(undecided), proof_block((proof, *_notes(why)))]


def _better(found: Explanation, maximised: str, minimised: str) -> str:
    return maximised if found.plan.objective.sense == "maximize" else minimised


def _facts(found: Explanation) -> Iterator[tuple[str, str]]:
    plan, why = found.plan, found.why_not
    binding = [row for row in found.marginals if row.binding]
    also = [row for row in found.marginals if _matters_at_all(found, row) and not row.binding]
    also.sort(key=lambda row: -_weight(row))
    idle = [row for row in found.marginals if row not in binding and row not in also]
    yield "Plan", _bought(found)
    for item in why.items if why is not None else ():
        if item.asked:
            yield "Why not", f"{item.model}: {' '.join(details(why, item))}" if why else ""
    if found.value is not None:
        yield "Binding", _binding(found, binding)
        yield "Marginal", "; ".join(_gain(found, row) for row in also[:_MOST_GAINS])
        yield "Levers", _levers(found)
    if why is not None and why.plan is not None:
        yield "Instead", _instead(why)
    if plan.storage_options is not None:
        yield "Prices", storage_options.decided(plan, plan.storage_options)
    names = [f"{row.label} {row.text}" for row in idle]
    more = [f"{len(names) - _MOST_IDLE} more"] if len(names) > _MOST_IDLE else []
    if names:
        count = counted(len(names), "limit")
        yield "Non-binding", f"{count}: {listed([*names[:_MOST_IDLE], *more])}"


def _bought(found: Explanation) -> str:
    goal = found.plan.objective
    assert goal.value is not None
    units = [so_many(line.working, product(line)) for line in decided_lines(found.plan)]
    text = f"{listed(units)}: {_amount(found, goal.value)}"
    if gives_away(goal) and goal.best is not None:
        text += f"; changes below are against the best, {_amount(found, goal.best)}"
    return text


def _amount(found: Explanation, value: float) -> str:
    """Return a value of the objective with its unit."""
    name = found.plan.objective.name
    if name in RATIOS:
        return f"{ratio(value)} as the {OBJECTIVES[name].label}"
    if found.plan.objective.unit == "USD":
        return f"{money(value)} of {OBJECTIVES[name].counted}"
    return f"{value:,.2f} {OBJECTIVES[name].counted}"


# Marginal values


def _matters(found: Explanation, moved: Moved) -> bool:
    """True if a move changes the best objective, or what is possible at all."""
    if moved.known in ("no_plan", "not_decided"):
        return True
    return moved.change is not None and not _is_same(found, moved.change)


def _matters_at_all(found: Explanation, row: Marginal) -> bool:
    return any(_matters(found, moved) for moved in (row.looser, row.tighter))


def _is_same(found: Explanation, change: float) -> bool:
    return abs(change) <= _SAME * abs(found.value or 1.0)


def _weight(row: Marginal) -> float:
    moves = (row.looser, row.tighter)
    if any(moved.known == "no_plan" for moved in moves):
        return float("inf")
    return max(abs(moved.change or 0.0) for moved in moves)


def _worth(found: Explanation, moved: Moved, *, unit: bool = True) -> str:
    """Return the marginal value of a move, and the GPUs in use that it adds."""
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
    """Return a change of the objective with its sign and unit; money always has one."""
    objective = OBJECTIVES[found.plan.objective.name]
    sign = "+" if change > 0 else "-"
    if objective.name in RATIOS:
        return f"{sign}{ratio(abs(change))}"
    if objective.figure.money:
        return f"{sign}{money(abs(change))}"
    digits = 0 if objective.name == "gpus" else 2 if abs(change) < 10 else 1
    text = f"{sign}{abs(change):,.{digits}f}" if abs(change) >= _FEW else f"{sign}{abs(change):.1g}"
    named = objective.label if objective.figure.names_unit(objective.unit) else objective.unit
    return f"{text} {named}" if unit else text


def _binding(found: Explanation, binding: Sequence[Marginal]) -> str:
    held = [row for row in binding if _matters_at_all(found, row)]
    loose = [row.label for row in binding if row not in held]
    texts = []
    for row in held[:_MOST_BINDING]:
        moves = [f"{m.to_text}: {_worth(found, m)}" for m in (row.looser, row.tighter)
                 if m.known != "at_its_end"]  # fmt: skip
        step = row.next_step
        pays = f"; {_better(found, 'more', 'less')} from {step.to_text}" if step else ""
        texts.append(f"{row.label} {row.text} ({', '.join(moves)}{pays})")
    texts += [f"{len(held) - _MOST_BINDING} more"] if len(held) > _MOST_BINDING else []
    texts += [f"{listed(loose)} (a step changes nothing)"] if loose else []
    return "; ".join(texts) or "no limit"


def _gain(found: Explanation, row: Marginal) -> str:
    """Return the gain of a step looser, or the loss of one tighter where nothing is gained."""
    no_gain = row.looser.known in ("at_its_end", "no_limit_helps") or not row.looser.change
    moved = row.tighter if no_gain else row.looser
    return f"{row.label} {row.text} to {moved.to_text}: {_worth(found, moved)}"


def _levers(found: Explanation) -> str:
    changes = sorted(
        (row for row in found.without if row.change is None or not _is_same(found, row.change)),
        key=lambda row: -(float("inf") if row.change is None else abs(row.change)),
    )
    texts = [
        f"{row.label}: {'no plan' if row.change is None else _signed(found, row.change)}"
        for row in changes[:_MOST_LEVERS]
    ]
    return "; ".join(texts) or ("no effect" if found.without else "")


def _marginals(found: Explanation) -> Table:
    rows = [row for row in found.marginals if _matters_at_all(found, row) or row.binding]
    rows += [row for row in found.marginals if row not in rows]

    def move(moved: Moved) -> str:
        if moved.known == "at_its_end":
            return "-"
        return f"{moved.to_text}: {_worth(found, moved, unit=False)}"

    pays = tuple(
        "" if (s := row.next_step) is None else f"{s.to_text}: {_signed(found, s.gain)}"
        for row in rows
    )
    columns: tuple[Column, ...] = (
        Column("limit", tuple(row.label for row in rows), words=True),
        Column("", tuple("binding" if row.binding else "" for row in rows), words=True),
        Column("now", tuple(row.text for row in rows)),
        Column("a step looser", tuple(move(row.looser) for row in rows), words=True),
        Column("a step tighter", tuple(move(row.tighter) for row in rows), words=True),
        Column("pays from", pays, words=True),
    )
    columns = columns if any(pays) else columns[:-1]
    named = OBJECTIVES[found.plan.objective.name].counted
    return Table(f"Marginal value of every limit, {named}", columns, rows="limits", detail=True)


def _without(found: Explanation) -> Table:
    def change(value: float | None) -> str:
        if value is None:
            return "no plan"
        return "no change" if _is_same(found, value) else _signed(found, value)

    columns = (
        Column("lever", tuple(row.label for row in found.without), words=True),
        Column("change", tuple(change(row.change) for row in found.without)),
        Column(
            "setting",
            tuple(f"--set '{row.setting}'" for row in found.without),
            words=True,
            under=True,
        ),
    )
    return Table("Value of levers: the best plan without each", columns, rows="levers", detail=True)


# Alternatives


def _share(value: float) -> str:
    size = abs(value)
    return percent(size, 1 if size >= 0.1 else 2 if size >= 0.001 else 3 if size >= 1e-4 else 4)


def _difference(why: WhyNot, row: Forced) -> str:
    """The relative change of the objective of a forced plan."""
    if row.loss is None:
        return ""
    if abs(row.loss) < _SMALL or -why.tie <= row.loss < 0:
        return "0 %"
    less = (row.loss > 0) == (why.sense == "maximize")
    return f"{'-' if less else '+'}{_share(row.loss)}"


def _instead(why: WhyNot) -> str:
    rows = [row for row in why.forced if row.figures is not None and row.loss is not None]
    alike = [row for row in rows if (row.loss or 0.0) <= why.tie]
    worse = sorted((row for row in rows if row not in alike), key=lambda row: row.loss or 0.0)
    texts = [f"tied {listed([row.label for row in alike])}"] if alike else []
    shown = worse[:_MOST_GAINS] + worse[_MOST_GAINS:][-1:]
    rivals = [f"{row.label} {_difference(why, row)}" for row in shown]
    return "; ".join([*texts, *([f"worse {', '.join(rivals)}"] if rivals else [])])


def _alternatives(why: WhyNot, plan: Figures) -> Table:
    """Return the best plan with other storage or GPU systems beside the plan."""
    rows: list[tuple[str, str, str, Figures | None]] = [("", "this plan", "", plan)]
    for row in why.forced:
        change = _difference(why, row) if row.figures else row.reason or UNDECIDED
        rows.append((_GROUPS[row.kind], row.label, change, row.figures))
    figures = [each for *_, each in rows]
    million = currency_among([plan.capex_usd]).large[1]
    flops = plan.useful_pflops is not None

    def texts(write: object) -> tuple[str, ...]:
        return tuple("" if each is None else write(each) for each in figures)  # type: ignore[operator]

    def work(each: Figures) -> str:
        value = each.useful_pflops if flops else each.useful_gpus
        return number(value, 1 if (value or 0.0) < 1000 else 0)

    def known(value: float | None) -> str:
        return "" if value is None else number(value, 1)

    columns = (
        Column("change", tuple(kind for kind, *_ in rows), head=("",), words=True),
        Column("with", tuple(label for _, label, *_ in rows), head=("",), words=True),
        Column("against", tuple(change for _, _, change, _ in rows)),
        Column("useful", texts(work), head=("useful", "PFLOP/s" if flops else "GPUs")),
        Column("GPUs in use", texts(lambda f: number(f.gpus_used)), head=("GPUs",)),
        Column("storage units", texts(lambda f: number(f.appliances)), head=("storage",)),
        Column("capex", texts(lambda f: millions(f.capex_usd)), head=("capex", million)),
        Column("TCO", texts(lambda f: millions(f.tco_usd)), head=("TCO", million)),
        Column("IT load, kW", texts(lambda f: known(f.it_power_kw)), head=("IT kW",)),
        Column("days to train", texts(lambda f: known(f.days_to_train)), head=("days",)),
    )
    shown = tuple(column for column in columns if any(column.values))
    label = OBJECTIVES[why.objective].label
    return Table(f"Alternatives; against: change of {label}", shown, rows="plans", detail=True)


def _loss(why: WhyNot, loss: float, *, at_least: bool = False) -> str:
    text = f"at least {_share(loss)}" if at_least else _share(loss)
    more = f"{{share}} more {OBJECTIVES[why.objective].label}"
    return _WORSE.get(why.objective, more).format(share=text)


def verdict(why: WhyNot, item: Item, *, money_shown: bool = True) -> str:
    """The reason against an item, in a line.

    Args:
        why: the comparison that the item is part of.
        money_shown: whether amounts of money may be named.
    """
    if item.kind == "left_out":
        return f"left out: {item.reason}"
    if item.kind == "no_plan":
        return "no plan with it"
    if item.kind == "as_good":
        return _tied(item) if money_shown else "tied"
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
    """Return the highest price of a unit at which an item enters the plan."""
    price = item.break_even
    if price is None:
        return ""
    if price.outcome != "found":
        return "at no price" if price.outcome == "no_price_helps" else "not computed"
    return "today's" if price.not_at_usd is None else bare(price.enters_at_usd)


def _items(why: WhyNot) -> Table:
    items = sorted(why.items, key=lambda item: (_KINDS.index(item.kind), item.at_least or 0.0))
    prices = tuple(
        "" if item.net_usd is None or item.kind == "left_out" else bare(item.net_usd)
        for item in items
    )
    columns = (
        Column("item", tuple(item.model for item in items), words=True),
        Column("id", tuple(item.sku for item in items), words=True, on=PAGE),
        Column("best plan with it", tuple(verdict(why, item) for item in items), words=True),
        Column(
            "price", prices, head=("price", currency_among(each.net_usd for each in items).code)
        ),
        Column("break-even", tuple(map(_enters, items)), head=("break-", "even")),
    )
    return Table("Items not in the plan", columns, rows="items", detail=True)


def details(why: WhyNot, item: Item) -> list[str]:
    """Return the reasons against an item in sentences, with its break-even price."""
    if item.kind == "left_out":
        return [f"It cannot be planned with: {item.reason}."]
    if item.kind == "no_plan":
        because = f": {item.reason}" if item.reason else ""
        return [f"No plan of this problem holds even one unit of it{because}."]
    if item.kind == "as_good":
        costs = _tied(item).removeprefix("tied").lstrip(",; ")
        return [f"A plan with it is tied within {_share(why.tie)}: {costs}.", *_price(item)]
    if item.kind == "open":
        return ["Bounds alone leave open whether a plan with it is tied.", *_price(item)]
    if item.exact and item.at_most is not None:
        return [f"The best plan with it: {_loss(why, item.at_most)} (proven).", *_price(item)]
    least = _loss(why, item.at_least or 0.0, at_least=True)
    return [f"Any plan with it: {least} (proven).", *_price(item)]


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
        return ["It is tied at today's price."]
    text = (
        f"Break-even ({counted(price.units or 1, 'unit')}): {amount(price.enters_at_usd)} a unit, "
        f"not at {amount(price.not_at_usd)}; today {amount(item.net_usd)}"
    )
    if item.list_usd != item.net_usd:
        text += f" (list {amount(price.enters_at_list_usd)}, today {amount(item.list_usd)})"
    return [f"{text}."]


def _notes(why: WhyNot | None) -> Iterator[str]:
    if why is None or why.plan is None:
        return
    yield (
        "'At least' is a proven bound; other figures are of plans found and proven. Prices are per "
        "unit after discount; at break-even a plan with the item is tied, 0.5 % above none is."
    )
    if why.tie > 1e-5:
        tie = percent(why.tie, 3)
        yield f"Plans within {tie} of the best are tied (objective.indifference): cheapest wins."
    prices = [item.break_even for item in why.items if item.break_even is not None]
    asked = any("--why-not" in (price.reason or "") for price in prices)
    if asked or any(item.kind == "open" for item in why.items):
        yield "Not computed: ask with --why-not ITEM."
