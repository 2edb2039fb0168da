"""Near-optimal plans in words: their figures, what they are, what was looked for."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from planner.currency import currency_among
from planner.figures import FIGURES, OBJECTIVES
from planner.outputs.blocks import Column, FirstScreen, Table, join_parts, screen
from planner.outputs.scope import decided_lines
from planner.outputs.words import (
    INDENT,
    amount_of,
    counted,
    millions,
    number,
    titled_points,
    wrapped,
)
from planner.schema.comparison import Alternative, Alternatives, Direction
from planner.schema.plan import Plan

_OTHERS = {"storage_vendor": "storage vendor", "gpu_type": "GPU system"}


def shortfall_text(share: float) -> str:
    """Return how far behind the best something is, in percent with the digits it needs."""
    size = 100.0 * abs(share)
    if size < 5e-5:
        return "0 %"
    digits = 2 if size >= 0.1 else 3 if size >= 0.01 else 4
    return f"{size:.{digits}f} %"


def tolerance(found: Alternatives) -> str:
    """Return the tolerance as it was asked for."""
    return f"{100.0 * found.within:.6g} %"


def what_it_is(alternative: Alternative) -> str:
    """Return every way in which a plan is extreme or different."""
    named = [f"{way.label} ({way.detail})" if way.detail else way.label for way in alternative.ways]
    return ", ".join(named)


def bought_text(plan: Plan) -> str:
    """Return the GPU systems and the storage of a plan."""
    return ", ".join(f"{line.working:,} × {line.model}" for line in decided_lines(plan))


def units(plan: Plan, section: str) -> int:
    """Return the units in place of a section."""
    return sum(line.working for line in decided_lines(plan, section))


def command(found: Alternatives, alternative: Alternative) -> str | None:
    """Return what shows a plan in full, None where no problem file can ask for it."""
    settings = next((way.setting for way in alternative.ways if way.setting is not None), None)
    if settings is None:
        return None
    words = ["planner", "solve", found.problem_file or "PROBLEM.yaml"]
    if found.scenario is not None:
        words += ["--scenario", found.scenario]
    for setting in (*found.overrides, *settings):
        words += ["--set", setting]
    return shlex.join(words)


def sentences(found: Alternatives) -> list[str]:
    """Return what was looked for and how that ended, where plans alone do not show it."""
    texts = [text for name in _OTHERS for text in _others(found, name)]
    open_ = [each.label for each in found.directions if each.ended == "not_found"]
    if open_:
        texts.append(f"not settled: {', '.join(open_)}")
    near = [each.label for each in found.directions if each.ended == "within" and not each.proven]
    if near:
        texts.append(f"found, but not proven in time to be the extreme: {', '.join(near)}")
    more = found.found - len(found.alternatives)
    if more > 0:
        plans = "plan that differs" if more == 1 else "plans that differ"
        see = "see them with planner.alternatives(most=...)"
        texts.append(f"{more} more {plans} less from these: {see}")
    if found.found == 1:
        texts.append("every direction leads to the same plan: there is no other at its ends")
    return texts


def _others(found: Alternatives, name: str) -> list[str]:
    """Return how the search for other vendors or types ended."""
    mine = [each for each in found.directions if each.name == name]
    what, within = _OTHERS[name], [each for each in mine if each.ended == "within"]
    if not mine:
        return [f"no other {what} is on offer"]
    texts = []
    if within:
        names = ", ".join(
            f"{each.detail} ({shortfall_text(each.shortfall or 0.0)})" for each in within
        )
        texts.append(f"another {what} within {tolerance(found)} of the best: {names}")
    return [*texts, *_beyond(found, what, mine, also=bool(within))]


def _beyond(
    found: Alternatives, what: str, directions: Sequence[Direction], *, also: bool
) -> list[str]:
    last = directions[-1]
    another = f"any further {what}" if also else f"another {what}"
    if last.ended == "no_plan":
        return [f"no plan is possible with {another}"]
    if last.ended != "beyond":
        return []
    least, most = shortfall_text(last.at_least or 0.0), shortfall_text(last.shortfall or 0.0)
    far = f"{most} behind" if least == most else f"{least} to {most} behind"
    return [
        f"no plan with {another} lies within {tolerance(found)}: the best one, with "
        f"{last.detail}, is {far}{' (proven)' if last.proven else ''}"
    ]


def _heading(found: Alternatives) -> str:
    return f"{found.problem}  (plans within {tolerance(found)} of the best)"


def render(found: Alternatives) -> str:
    """Return the whole screen, at most 100 columns wide."""
    parts = [_heading(found)]
    if found.message:
        parts.append("\n".join(wrapped(found.message)))
    if found.alternatives:
        parts += [
            screen([_figures(found)]).rstrip("\n"),
            _plans(found),
            titled_points("What was looked for", sentences(found)),
            _proof(found),
        ]
    return join_parts(parts)


def first(found: Alternatives) -> FirstScreen:
    """Return what one page says: how many there are, whose, and each in two lines."""
    if not found.alternatives:
        return FirstScreen(entire=True)
    best, *others = found.alternatives
    work = best.plan.jobs[0]
    done = (f"{number(work.useful_gpus)} useful GPUs" if work.useful_pflops is None
            else f"{number(work.useful_pflops, 1)} useful PFLOP/s")  # fmt: skip
    plans = counted(len(others), "other plan")
    differ = "differs" if len(others) == 1 else "differ"
    notes = sentences(found)
    answer = [
        ("Best", f"{bought_text(best.plan)}: {done}"),
        ("Near it", f"{plans} within {tolerance(found)} of it {differ} from it and each other"),
        ("Others", "; ".join(notes)),
    ]
    commands = sum(command(found, each) is not None for each in others)
    full = "useful work, TCO and power of each"
    full += f", {counted(commands, 'command')} to solve them again" if commands else ""
    return FirstScreen(
        _heading(found),
        tuple(answer),
        below=(_in_two_lines(found.alternatives),),
        proof=(_proven(found),),
        full=full,
    )


def _in_two_lines(alternatives: Sequence[Alternative]) -> Table:
    plans = [each.plan for each in alternatives]
    totals = [plan.totals for plan in plans]
    power = tuple("" if t is None else number(t.it_power_kw) for t in totals)
    capex = tuple(millions(t.capex_usd) if t else "" for t in totals)
    million = currency_among(t.capex_usd for t in totals if t).large[1]
    return Table(
        "Plans, the best first",
        (
            Column("", tuple(f"{place}" for place in range(1, len(plans) + 1))),
            Column("at most", tuple(shortfall_text(each.shortfall) for each in alternatives),
                   head=("behind",)),
            Column(f"capex, {million}", capex, head=(million,)),
            Column(FIGURES["it_power_kw"].title, power, head=("IT kW",)),
            Column("buys", tuple(map(bought_text, plans)), words=True, gives_way=True),
            Column("what it is", tuple(map(what_it_is, alternatives)), words=True, under=True),
        ),
    )  # fmt: skip


def _figures(found: Alternatives) -> Table:
    """Return the figures of every plan; a column in which nothing is known is left out."""
    plans = [each.plan for each in found.alternatives]
    jobs = [plan.jobs[0] for plan in plans]
    totals = [plan.totals for plan in plans if plan.totals is not None]
    flops, days = [job.useful_pflops for job in jobs], [job.days_to_train for job in jobs]
    work = [
        job.useful_gpus if rate is None else rate for job, rate in zip(jobs, flops, strict=True)
    ]
    shown: tuple[tuple[str, str, Iterable[str]], ...] = (
        ("", "", map(str, range(1, len(plans) + 1))),
        ("useful", "GPUs" if flops[0] is None else "PFLOP/s", (number(each, 1) for each in work)),
        ("behind", "at most", (shortfall_text(each.shortfall) for each in found.alternatives)),
        ("GPUs", "in use", (number(job.gpus_used) for job in jobs)),
        ("GPU", "systems", (number(units(plan, "Compute")) for plan in plans)),
        ("storage", "units", (number(units(plan, "Storage")) for plan in plans)),
        ("capex", found.shown_in.large[1], (millions(each.capex_usd) for each in totals)),
        ("TCO", found.shown_in.large[1], (millions(each.tco_usd) for each in totals)),
        ("IT", "kW", (_known(each.it_power_kw) for each in totals)),
        ("days to", "train", map(_known, days)),
    )
    columns = (Column(first, tuple(texts), head=(first, second)) for first, second, texts in shown)
    return Table("", tuple(column for column in columns if any(column.values)))


def _known(value: float | None) -> str:
    return "" if value is None else number(value, 1)


def _plans(found: Alternatives) -> str:
    lines: list[str] = []
    for place, each in enumerate(found.alternatives, start=1):
        text = f"{what_it_is(each)}: {bought_text(each.plan)}"
        lines += wrapped(text, f"{INDENT}{place}  ", f"{INDENT}   ")
        lines += _again(found, each) if place > 1 else []
    return "\n".join(["What they are", *lines])


def _again(found: Alternatives, alternative: Alternative) -> Iterator[str]:
    """Yield the command that shows a plan in full, whole, so that it can be copied."""
    text = command(found, alternative)
    if text is not None:
        yield f"{INDENT}     {text}"


def _proof(found: Alternatives) -> str:
    return "\n".join(["Proof", *wrapped(_proven(found))])


def _proven(found: Alternatives) -> str:
    assert found.bound is not None
    amount = amount_of(found.objective, found.bound)
    better = "more" if found.sense == "maximize" else "less"
    return (
        f"no plan has {OBJECTIVES[found.objective].label} of {better} than {amount}; 'behind' is "
        "measured from there. Every plan is verified by independent arithmetic. What is least or "
        "most is so among all plans within the tolerance."
    )
