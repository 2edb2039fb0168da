"""The screen that answers: what to buy, how it runs, what binds, how far it is proven."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from planner.outputs.words import duration, gap, money, number, percent, quantity, size
from planner.schema.plan import JobPlan, Line, Plan, Totals
from planner.sizing.rules import VENDOR_RULES, rule_demand

WIDTH = 100
INDENT = "  "
_STATUS = {
    "optimal": "proven best",
    "feasible": "best found so far, not proven",
    "infeasible": "no plan is possible",
    "unbounded": "nothing limits the plan",
    "no_solution": "no plan found in time",
}


def render(plan: Plan) -> str:
    """Return the whole screen, at most ``WIDTH`` columns wide."""
    parts = [_title(plan)]
    if plan.message:
        parts.append("\n".join(_wrapped(plan.message)))
    if plan.totals is not None and plan.jobs:
        parts += [_bill(plan, plan.totals), _job(plan, plan.jobs[0]), _limits(plan)]
        parts += [_proof(plan), _notes(plan)]
    text = "\n\n".join(part for part in parts if part) + "\n"
    # Names come from files: nothing in them may steer the terminal.
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def _title(plan: Plan) -> str:
    scenario = plan.provenance.scenario
    name = plan.problem if scenario is None else f"{plan.problem}, scenario {scenario}"
    return f"{name}  ({_STATUS[plan.status]})"


def _wrapped(text: str, first: str = INDENT, rest: str = INDENT) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest)


def _bill(plan: Plan, totals: Totals) -> str:
    rows = [["", "item", "gives", "IT kW", "racks", "price"]]
    for line in plan.lines:
        if line.parent is None:
            rows.append(_row(line))
    known = [line for line in plan.lines if line.parent is None]
    power = number(totals.it_power_kw, 1)
    if totals.it_power_kw is None:
        power = f"over {sum(line.it_power_kw or 0.0 for line in known):,.1f}"
    total = ["", "together", f"{totals.gpus:,} GPUs", power]
    rows.append([*total, number(totals.racks), money(totals.capex_usd)])
    lines = [*_table(rows), *_wrapped(_money_text(plan, totals))]
    bought = any(line.purchased for line in known)
    return ("Buy\n" if bought else "Run what is installed\n") + "\n".join(lines)


def _row(line: Line) -> list[str]:
    gives = f"{line.gpus:,} GPUs"
    if line.section == "Storage":
        gives = f"{line.read_gb_per_s:,.0f}/{line.write_gb_per_s:,.0f} GB/s read/write"
    price = money(line.extended_net_usd)
    if line.installed:
        installed = f"{min(line.installed, line.quantity):,} installed"
        price = f"{price} ({installed})" if line.purchased else installed
    named = line.model.casefold().startswith(line.vendor.casefold())
    name = (line.model if named else f"{line.vendor} {line.model}")[:44]
    racks = "" if line.racks is None else f"{line.racks:,}"
    return [f"{line.quantity:,}", name, gives, number(line.it_power_kw, 1), racks, price]


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    right = (True, False, True, True, True, True)
    lines = []
    for row in rows:
        cells = zip(row, widths, right, strict=True)
        text = "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in cells)
        lines.append(f"{INDENT}{text}".rstrip())
    return lines


def _money_text(plan: Plan, totals: Totals) -> str:
    facility = "the power draw is not known in full"
    if totals.facility_power_kw is not None:
        facility = f"{totals.facility_power_kw:,.0f} kW at the meter (PUE {plan.site.pue:g})"
    if totals.tco_usd is None or plan.site.years is None:
        return facility
    opex = f"{money(totals.opex_usd_per_year)} a year to run (energy and support)"
    return f"{facility}; {opex}; TCO over {plan.site.years:g} years {money(totals.tco_usd)}"


def _job(plan: Plan, job: JobPlan) -> str:
    return "Run\n" + "\n".join(line for text in _job_texts(plan, job) for line in _wrapped(text))


def _job_texts(plan: Plan, job: JobPlan) -> Iterator[str]:
    bought = plan.totals.gpus if plan.totals else job.gpus_used
    idle = "" if bought == job.gpus_used else f" of {bought:,} bought"
    work = f"the work of {job.useful_gpus:,.0f} GPUs that never stop"
    if job.useful_pflops is not None:
        work += f", {job.useful_pflops:,.0f} useful PFLOP/s"
    yield f"{job.name}: {job.gpus_used:,} GPUs{idle}, goodput {percent(job.goodput, 2)}: {work}"
    if job.days_to_train is not None:
        yield f"trains in {job.days_to_train:,.1f} days"
    yield _checkpoints(job)
    yield (
        f"an interruption every {duration(job.mtti_s)}; restart {duration(job.restart_s)}, "
        f"restore reads {job.fan_out:.3g} x {size(job.checkpoint_gb)} in {duration(job.restore_s)}"
    )
    loss = job.loss
    parts = (("stall", loss.stall), ("rework", loss.rework), ("drain", loss.drain),
             ("restart", loss.restart), ("restore", loss.restore))  # fmt: skip
    shares = ", ".join(f"{name} {percent(share, 2)}" for name, share in parts)
    yield f"time lost: {shares}"
    yield from _demand(plan, job)
    per_gpu = 1000.0 * job.delivered_write_gb_per_s / job.gpus_used
    yield (
        f"delivered: write {job.delivered_write_gb_per_s:,.0f} GB/s ({per_gpu:,.0f} MB/s per GPU, "
        f"limited by {job.write_limited_by}), read {job.delivered_read_gb_per_s:,.0f} GB/s "
        f"(limited by {job.read_limited_by})"
    )


def _demand(plan: Plan, job: JobPlan) -> Iterator[str]:
    """What the checkpoints need, next to what the lightest vendor rule would have asked for."""
    overlap = next((limit for limit in plan.limits if limit.name == "overlap"), None)
    if overlap is None:
        return
    need = job.checkpoint_gb / (overlap.limit * job.interval_s)
    light, gpus = VENDOR_RULES["light"], plan.totals.gpus if plan.totals else job.gpus_used
    _, rule = rule_demand(light, gpus)
    yield (
        f"checkpoints need {need:,.0f} GB/s of write ({1000 * need / job.gpus_used:,.0f} MB/s per "
        f"GPU) to drain in {percent(overlap.limit, 0)} of the interval; the vendors' light rule "
        f"would ask for {rule:,.0f} GB/s"
    )


def _checkpoints(job: JobPlan) -> str:
    how = {
        "optimal": "the best interval",
        "fixed": "as given",
        "lost_work": f"{job.interval_s / job.mtti_s:.3g} of the time between interruptions",
    }[job.interval_policy]
    start = f"checkpoint of {size(job.checkpoint_gb)} every {duration(job.interval_s)} ({how}): "
    if job.mode == "sync":
        return f"{start}synchronous, GPUs wait {duration(job.stall_s)} ({percent(job.blocking, 2)})"
    return (
        f"{start}GPUs wait {duration(job.stall_s)}, storage drains it in {duration(job.drain_s)} "
        f"({percent(job.overlap)} of the interval)"
    )


def _limits(plan: Plan) -> str:
    binding = [
        limit for limit in plan.limits if limit.binding and not limit.name.endswith(".fixed")
    ]
    if not binding:
        return "Binding limits\n" + f"{INDENT}none"
    lines = []
    for limit in binding:
        sense = "of at most" if limit.sense == "<=" else "of at least"
        source = f" ({limit.source})" if limit.source else ""
        value, most = quantity(limit.value, limit.unit), quantity(limit.limit, limit.unit)
        lines += _wrapped(f"{limit.label}: {value} {sense} {most}{source}")
    return "Binding limits\n" + "\n".join(lines)


def _proof(plan: Plan) -> str:
    goal = plan.objective
    names = {
        "goodput": "useful work", "useful_gpus": "useful GPUs", "gpus": "GPUs in use",
        "cost": "capital cost", "tco": "TCO", "power": "IT power",
    }  # fmt: skip
    assert goal.value is not None
    value = _objective(goal.value, goal.unit)
    if goal.bound is None:
        text = (
            f"{names[goal.name]} {value}; nothing is proven about how much better a plan could be"
        )
    else:
        better = "more than" if goal.sense == "maximize" else "less than"
        bound = _objective(goal.bound, goal.unit)
        text = f"{names[goal.name]} {value}; no plan has {better} {bound} (gap {gap(goal.gap)})"
    made = plan.provenance
    solver = {"highs": "HiGHS", "cbc": "CBC"}[made.solver]
    seconds = "" if made.seconds is None else f", {made.seconds:.2f} s"
    text += f"; {solver}, {made.iterations} solves{seconds}; verified by independent arithmetic"
    return "Proof\n" + "\n".join(_wrapped(text))


def _objective(value: float, unit: str) -> str:
    return money(value) if unit == "USD" else f"{value:,.2f} {unit}"


def _notes(plan: Plan) -> str:
    notes = [
        line for text in plan.warnings for line in _wrapped(text, f"{INDENT}- ", f"{INDENT}  ")
    ]
    return "Read this too\n" + "\n".join(notes) if notes else ""
