"""What the reader must know before trusting a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planner.assemble.remarks import remarks
from planner.case import Case, figures
from planner.inputs import Inputs
from planner.optimizer.operate import Operation
from planner.schema.plan import FabricReport, JobPlan, Line
from planner.sizing.goodput import FIRST_ORDER_VALID_BELOW

FIELD_GB_PER_S = 200.0
"""Upper end of the global checkpoint bandwidth seen in production (checkpoint survey, 2025)."""


def warnings(
    inputs: Inputs,
    case: Case,
    operation: Operation,
    bill: Iterable[Line],
    job: JobPlan,
    fabrics: Sequence[FabricReport],
) -> tuple[str, ...]:
    """Return the warnings of a plan, most important first."""
    lines = [line for line in bill if line.parent is None]
    groups = (_prices(lines), _unknown(lines), _figures(inputs, operation), _job(case, job))
    texts = (text for group in groups for text in group)
    more = remarks(inputs, case, operation, lines, job, fabrics)
    last = (*_ports(inputs, lines), *_not_considered(inputs))
    return (*inputs.warnings, *texts, *more, *last)


def _not_considered(inputs: Inputs) -> Iterator[str]:
    """Yield which products on offer are left out because nobody states a price or a figure."""
    models: dict[str, list[str]] = {}
    for item in inputs.items:
        lacking = figures.lacking(item, inputs)
        if item.category in ("gpu_system", "storage") and lacking is not None:
            models.setdefault(lacking, []).append(item.model)
    if models:
        parts = (f"{', '.join(names)} ({lacking})" for lacking, names in models.items())
        yield f"on offer, but not considered: {'; '.join(parts)}"


def _ports(inputs: Inputs, lines: list[Line]) -> Iterator[str]:
    """Yield what the fabrics do not connect because nobody states its ports."""
    network = inputs.problem.network
    known = {item.id: item for item in inputs.items}
    chosen = [known[line.sku] for line in lines if line.section in ("Compute", "Storage")]
    for name in ("storage", "in_band", "out_of_band"):
        silent = [item.model for item in chosen if getattr(item.ports, name) is None]
        if getattr(network, name) is not None and silent:
            words = name.replace("_", "-")
            yield f"no {words} ports are stated, so none are counted, for: {', '.join(silent)}"


def _prices(lines: list[Line]) -> Iterator[str]:
    unpriced = [line.model for line in lines if line.price is None and line.purchased == 0]
    if unpriced:
        yield f"no price for what is installed already: {', '.join(unpriced)}"
    dear = [line for line in lines if line.price is None and line.purchased]
    if dear:
        names = ", ".join(f"{line.purchased:,} {line.model}" for line in dear)
        yield f"bought, but no price is known, so the cost leaves it out: {names}"
    weak = [line for line in lines if line.price is not None and line.price.confidence != "high"]
    if weak:
        parts = (f"{line.model} ({line.price.confidence})" for line in weak if line.price)
        yield f"prices are estimates, not quotes: {', '.join(parts)}"
    for line in weak:
        if line.price and line.price.note and line.purchased:
            yield f"price of {line.model}: {line.price.note}"


def _unknown(lines: list[Line]) -> Iterator[str]:
    for field, label in (
        ("it_power_kw", "power draw"), ("rack_units", "height"), ("weight_kg", "weight"),
    ):  # fmt: skip
        missing = [line.model for line in lines if getattr(line, field) is None]
        if missing:
            yield f"{label} not known, so left out of the totals: {', '.join(missing)}"


def _figures(inputs: Inputs, operation: Operation) -> Iterator[str]:
    for item in sorted(inputs.items, key=lambda item: item.id):
        if not operation.units.get(item.id):
            continue
        weak = [
            name
            for name in ("read", "write", "usable")
            if (figure := getattr(item.provides, name)) is not None and figure.confidence == "low"
        ]
        if item.consumes.it_power is not None and item.consumes.it_power.confidence == "low":
            weak.append("power")
        if weak:
            names = ", ".join(weak)
            yield f"{item.model}: weak sources for {names}; confirm before ordering"


def _job(case: Case, job: JobPlan) -> Iterator[str]:
    outage = (job.restart_s + job.restore_s + job.interval_s / 2 + job.drain_s) / job.mtti_s
    if outage > FIRST_ORDER_VALID_BELOW:
        yield (
            f"failures cost {outage:.0%} of the mean time between them; first-order formulas "
            f"would say goodput {job.goodput_first_order:.3f} instead of {job.goodput:.3f}"
        )
    for side, limited in (("write", job.write_limited_by), ("read", job.read_limited_by)):
        if limited == "clients":
            yield f"the GPU systems, not the appliances, limit {side} bandwidth"
    if job.checkpoint_gb / (job.interval_s * case.job.max_overlap) > FIELD_GB_PER_S:
        needed = job.checkpoint_gb / (job.interval_s * case.job.max_overlap)
        yield (
            f"checkpoints every {job.interval_s:.0f} s need {needed:.0f} GB/s; production systems "
            "were seen to use 50 to 200 GB/s"
        )
