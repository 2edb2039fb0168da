"""Near-optimal plans: their figures, what each is extreme in, and the commands that solve them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from planner.figures import FIGURES, OBJECTIVES
from planner.report.blocks import Block, Column, Facts, Heading, Table, Text, proof_block
from planner.report.scope import decided_lines
from planner.report.words import amount_of, counted, millions, number
from planner.schema.analysis import Alternative, Alternatives, Direction
from planner.schema.plan import Plan

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
    texts = (_again(found, each) for each in others)
    commands = Text(tuple(filter(None, texts)), "Commands", detail=True)
    return [title, Facts(facts), _plans(found), commands, proof_block((_proof(found),))]


def _tolerance(found: Alternatives) -> str:
    return f"{100.0 * found.within:.6g} %"


def _behind(share: float) -> str:
    size = 100.0 * abs(share)
    if size < 5e-5:
        return "0 %"
    return f"{size:.{2 if size >= 0.1 else 3 if size >= 0.01 else 4}f} %"


def bought_text(plan: Plan) -> str:
    """The GPU systems and the storage of a plan."""
    return ", ".join(f"{line.working:,} × {line.model}" for line in decided_lines(plan))


def _again(found: Alternatives, alternative: Alternative) -> str:
    """The command that solves a plan; empty where no problem file can ask for it."""
    settings = next((way.setting for way in alternative.ways if way.setting is not None), None)
    if settings is None:
        return ""
    words = ["planner", "solve", found.problem_file or "PROBLEM.yaml"]
    if found.scenario is not None:
        words += ["--scenario", found.scenario]
    for setting in (*found.overrides, *settings):
        words += ["--set", setting]
    return shlex.join(words)


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
    if more > 0:
        yield "Omitted", f"{counted(more, 'plan')} alike; planner.alternatives(most=...) has them"
    if found.found == 1:
        yield "Result", "every direction leads to the same plan"


def _others(found: Alternatives, mine: Sequence[Direction]) -> Iterator[str]:
    within = [f"{each.detail} {_behind(each.shortfall or 0.0)} behind"
              for each in mine if each.ended == "within"]  # fmt: skip
    if within:
        yield ", ".join(within)
    if mine and mine[-1].ended == "no_plan":
        yield f"no plan with any {'further one' if within else 'other'}"
    elif mine and mine[-1].ended == "beyond":
        last = mine[-1]
        least, most = _behind(last.at_least or 0.0), _behind(last.shortfall or 0.0)
        far = most if least == most else f"{least} to {most}"
        proven = " (proven)" if last.proven else ""
        yield f"none within {_tolerance(found)}: {last.detail} is {far} behind{proven}"


def _plans(found: Alternatives) -> Table:
    plans = [each.plan for each in found.alternatives]
    jobs = [plan.jobs[0] for plan in plans]
    totals = [plan.totals for plan in plans]
    flops = jobs[0].useful_pflops is not None
    work = [(job.useful_pflops if flops else job.useful_gpus) or 0.0 for job in jobs]
    ways = [
        ", ".join(f"{way.label} ({way.detail})" if way.detail else way.label for way in each.ways)
        for each in found.alternatives
    ]

    def units(section: str) -> tuple[str, ...]:
        sums = (sum(line.working for line in decided_lines(plan, section)) for plan in plans)
        return tuple(map(number, sums))

    million = found.shown_in.large[1]

    def money_of(name: str, head: str) -> Column:
        texts = tuple("" if t is None else millions(getattr(t, f"{name}_usd")) for t in totals)
        return Column(f"{head}, {million}", texts, head=(head, million),
                      detail=head == "TCO")  # fmt: skip

    behind = tuple(_behind(each.shortfall) for each in found.alternatives)
    power = tuple("" if t is None or t.it_power_kw is None else number(t.it_power_kw, 1)
                  for t in totals)  # fmt: skip
    days = tuple("" if job.days_to_train is None else number(job.days_to_train, 1) for job in jobs)
    figures = (
        Column("", tuple(f"{place}" for place in range(1, len(plans) + 1))),
        Column("buys", tuple(map(bought_text, plans)), words=True, gives_way=True),
        Column("useful", tuple(number(each, 1) for each in work),
               head=("useful", "PFLOP/s" if flops else "GPUs"), detail=True),
        Column("behind, at most", behind, head=("behind",)),
        Column("GPUs in use", tuple(number(job.gpus_used) for job in jobs),
               head=("GPUs", "in use"), detail=True),
        Column("GPU systems", units("Compute"), head=("GPU", "systems"), detail=True),
        Column("storage units", units("Storage"), head=("storage", "units"), detail=True),
        money_of("capex", "capex"),
        money_of("tco", "TCO"),
        Column(FIGURES["it_power_kw"].title, power, head=("IT kW",)),
        Column("days to train", days, head=("days to", "train"), detail=True),
        Column("extreme in", tuple(ways), words=True, under=True),
    )  # fmt: skip
    return Table("Plans, the best first", tuple(each for each in figures if any(each.values)))


def _proof(found: Alternatives) -> str:
    assert found.bound is not None
    amount = amount_of(found.objective, found.bound)
    better = "more" if found.sense == "maximize" else "less"
    return (
        f"No plan has {OBJECTIVES[found.objective].label} of {better} than {amount}; 'behind' "
        "counts from there. Every plan is verified by independent arithmetic; least and most are "
        "among all plans within the tolerance."
    )
