"""Near-optimal plans: their figures, what each is extreme in, and the commands that solve them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from planner.figures import FIGURES, OBJECTIVES
from planner.report.blocks import (
    Block,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    proof_block,
    values_of,
    words,
)
from planner.report.views.plan import bought_text
from planner.report.words import amount_of, counted, millions, number, relative
from planner.schema.analysis import Alternative, Alternatives, Direction

_OTHERS = {"storage_vendor": "storage vendor", "gpu_type": "GPU system"}


def view(found: Alternatives) -> list[Block]:
    """Near-optimal plans as blocks."""
    title = Heading(f"{found.problem}  (plans within {_tolerance(found)} of the best)")
    if not found.alternatives:
        return [title, Text((found.message or "no plan",))]
    best, *others = found.alternatives
    job = best.plan.jobs[0]
    work = f"{number(job.useful_gpus)} useful GPUs"
    if job.useful_pflops is not None:
        work = f"{number(job.useful_pflops, 1)} useful PFLOP/s"
    facts = (
        ("Best", f"{bought_text(best.plan)}: {work}"),
        ("Found", f"{counted(len(others), 'other plan')} within {_tolerance(found)}"),
        *_searched(found),
        ("", found.message or ""),
    )
    commands = tuple(filter(None, (_again(found, each) for each in found.alternatives)))
    assert found.bound is not None
    better = "more" if found.sense == "maximize" else "less"
    label, bound = OBJECTIVES[found.objective].label, amount_of(found.objective, found.bound)
    return [
        title,
        Facts(facts),
        _plans(found),
        Text(commands, "Commands", detail=True),
        proof_block((
            f"No plan has {label} of {better} than {bound}; 'behind' counts from there. Least and "
            "most are among all plans within the tolerance.",
        )),
    ]  # fmt: skip


def _tolerance(found: Alternatives) -> str:
    return f"{100.0 * found.within:.6g} %"


def _again(found: Alternatives, alternative: Alternative) -> str:
    """The command that solves a plan; empty where no problem file can ask for it."""
    settings = next((way.setting for way in alternative.ways if way.setting is not None), None)
    if settings is None:
        return ""
    scenario = [] if found.scenario is None else ["--scenario", found.scenario]
    options = [part for text in (*found.overrides, *settings) for part in ("--set", text)]
    return shlex.join(
        ["planner", "solve", found.problem_file or "PROBLEM.yaml", *scenario, *options]
    )


def _searched(found: Alternatives) -> Iterator[tuple[str, str]]:
    """Yield the result of the search in each direction."""
    for name, label in _OTHERS.items():
        mine = [each for each in found.directions if each.name == name]
        yield f"Other {label}", "; ".join(_others(found, mine)) or "none on offer"
    labels = [each.label for each in found.directions if each.ended == "not_found"]
    yield "Undecided", ", ".join(labels)
    near = [each.label for each in found.directions if each.ended == "within" and not each.proven]
    yield "Not proven", ", ".join(near)
    more = found.found - len(found.alternatives)
    yield "Omitted", f"{counted(more, 'plan')} alike" if more > 0 else ""


def _others(found: Alternatives, mine: Sequence[Direction]) -> Iterator[str]:
    within = [
        f"{each.detail} {relative(each.shortfall or 0.0)} behind"
        for each in mine
        if each.ended == "within"
    ]
    if within:
        yield ", ".join(within)
    if mine and mine[-1].ended == "no_plan":
        yield f"no plan with any {'further one' if within else 'other'}"
    elif mine and mine[-1].ended == "beyond":
        last = mine[-1]
        ends = (relative(last.at_least or 0.0), relative(last.shortfall or 0.0))
        far = " to ".join(dict.fromkeys(ends))
        proven = " (proven)" if last.proven else ""
        yield f"none within {_tolerance(found)}: {last.detail} is {far} behind{proven}"


def _plans(found: Alternatives) -> Table:
    rows = found.alternatives
    plans = [each.plan for each in rows]
    jobs = [plan.jobs[0] for plan in plans]
    totals = [plan.totals for plan in plans]
    flops = jobs[0].useful_pflops is not None
    work = [job.useful_pflops if flops else job.useful_gpus for job in jobs]
    ways = (
        ", ".join(f"{way.label} ({way.detail})" if way.detail else way.label for way in each.ways)
        for each in rows
    )
    million = found.shown_in.large[1]
    columns = (
        figures("", range(1, len(plans) + 1), 0),
        words("buys", map(bought_text, plans)),
        figures("useful PFLOP/s" if flops else "useful GPUs", work, 1, detail=True),
        figures("behind", (each.shortfall for each in rows), relative),
        figures("GPUs in use", (job.gpus_used for job in jobs), 0, detail=True),
        figures(f"capex {million}", values_of(totals, lambda t: t.capex_usd), millions),
        figures(f"TCO {million}", values_of(totals, lambda t: t.tco_usd), millions, detail=True),
        figures(FIGURES["it_power_kw"].title, values_of(totals, lambda t: t.it_power_kw), 1),
        figures("days to train", (job.days_to_train for job in jobs), 1, detail=True),
        words("extreme in", ways),
    )
    return Table("Plans, the best first", columns)
