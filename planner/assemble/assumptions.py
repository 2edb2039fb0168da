"""What the plan rests on: every input that matters, with value, unit, source and confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from planner.case import Case
from planner.case.figures import CLIENT_GB_PER_S_PER_GPU
from planner.figures import ITEM_UNITS
from planner.inputs import Inputs
from planner.loader.catalog_checks import catalog_figures
from planner.optimizer.operate import Operation
from planner.optimizer.purchase import bill
from planner.paths import job_path
from planner.schema.catalog import Figure, Item, Source
from planner.schema.plan import Assumption
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.sizing.reliability import FAILURES_PER_GPU_DAY


def assumptions(inputs: Inputs, case: Case, operation: Operation) -> tuple[Assumption, ...]:
    """Return the assumptions of a plan: the problem's, then those of each item in it."""
    known = {item.id: item for item in inputs.items}
    result = [*_problem(inputs, case, operation)]
    counts = bill(case, operation.units).counts
    for bill_item in case.bill_items():
        if counts[bill_item.id]:
            item = known[bill_item.id]
            result += _item(inputs, item)
            for part in item.components:
                result += _item(inputs, known[part.id])
    return tuple(result)


def _problem(inputs: Inputs, case: Case, operation: Operation) -> Iterator[Assumption]:
    problem, job = inputs.problem, case.job
    origin = _where(inputs)
    yield _given("delivered_fraction.write", "delivered share of nameplate write",
                 case.delivered_write, "share", origin("storage.delivered_fraction.write"),
                 "observed in production: 0.16 to 0.40")  # fmt: skip
    yield _given("delivered_fraction.read", "delivered share of nameplate read",
                 case.delivered_read, "share", origin("storage.delivered_fraction.read"),
                 "observed in production: 0.2 to 1.0")  # fmt: skip
    yield from _pue(inputs, origin)
    yield _given("checkpoint_size", "checkpoint size", job.checkpoint_gb, "GB",
                 origin(job_path("checkpoint.size")) if problem.job.checkpoint.size_gb
                 else origin(job_path("bytes_per_parameter")), _bytes_note(inputs))  # fmt: skip
    yield _failures(inputs, operation, origin(job_path("failures")))
    yield _given("stall", "stall per asynchronous checkpoint", job.stall_s, "s",
                 origin(job_path("checkpoint.stall")),
                 "reported: 0.3 to 7 s; see docs/sizing.md")  # fmt: skip
    yield _given("restart", "restart without the read", job.restart_s, "s",
                 origin(job_path("restore.restart")), "reported: 120 to 1200 s")  # fmt: skip
    yield _given("client_limit", "client limit per GPU of a system, where nothing else is given",
                 CLIENT_GB_PER_S_PER_GPU, "GB/s",
                 'S. Kartik and C. Tartow, VAST Data, "A Checkpoint on Checkpoints in LLMs", '
                 "2024-01-10",
                 "8 buffered writer threads move about 8 GB/s per 8-GPU system")  # fmt: skip
    if problem.term is not None:
        yield _given("electricity", "price of electricity",
                     problem.term.electricity_usd_per_kwh, "USD/kWh",
                     origin("term.electricity"))  # fmt: skip
        yield _given("years", "term", problem.term.years, "years", origin("term.years"))


def _pue(inputs: Inputs, origin: Callable[[str], str]) -> Iterator[Assumption]:
    site = inputs.problem.site
    if site.pue_air == site.pue_liquid:
        label = "power usage effectiveness"
        yield _given("pue", label, site.pue_air, "ratio", origin("site.pue"))
        return
    label = "power usage effectiveness of what heats the air"
    yield _given("pue.air", label, site.pue_air, "ratio", origin("site.pue.air"))
    label = "power usage effectiveness of what heats a liquid"
    yield _given("pue.liquid", label, site.pue_liquid, "ratio", origin("site.pue.liquid"))


def _where(inputs: Inputs) -> Callable[[str], str]:
    def origin(path: str) -> str:
        return inputs.where(path) or "default"

    return origin


def _given(
    name: str, label: str, value: float | str, unit: str, source: str, note: str | None = None
) -> Assumption:
    return Assumption(name=name, label=label, value=value, unit=unit, source=source, note=note)


def _bytes_note(inputs: Inputs) -> str | None:
    each = inputs.problem.job.bytes_per_parameter
    if inputs.problem.job.checkpoint.size_gb is not None:
        return None
    if isinstance(each, str):
        preset = BYTES_PER_PARAMETER[each]
        return f"{preset.value:g} bytes per parameter: {preset.meaning} ({preset.source})"
    return f"{each:g} bytes per parameter"


def _failures(inputs: Inputs, operation: Operation, source: str) -> Assumption:
    given, note = inputs.problem.job.failures, None
    if isinstance(given, str):
        preset = FAILURES_PER_GPU_DAY[given]
        source, note = f"{source}: preset {given}", f"{preset.meaning} ({preset.source})"
    value = operation.failures_per_gpu_day
    return _given("failures", "job-interrupting failures", value, "per GPU-day", source, note)


def _item(inputs: Inputs, item: Item) -> Iterator[Assumption]:
    sources = inputs.item_sources.get(item.id, {})
    for name, figure in catalog_figures(item):
        if not name.startswith("facts."):
            yield _figure(item, name, figure, sources)
    if item.sizes is not None:
        source = sources.get(item.sizes.source)
        rows = item.sizes.rows
        yield Assumption(
            name=f"{item.id}.sizes",
            label=f"{item.model}: bandwidth by number of units",
            value=f"{len(rows)} published sizes, {rows[0].units} to {rows[-1].units} units",
            unit="",
            source=source.title if source else item.sizes.source,
            confidence=item.sizes.confidence,
            note=item.sizes.note,
        )


def _figure(
    item: Item, name: str, figure: Figure[object], sources: Mapping[str, Source]
) -> Assumption:
    source = sources.get(figure.source)
    value = figure.value
    return Assumption(
        name=f"{item.id}.{name}",
        label=f"{item.model}: {name.split('.')[-1].replace('_', ' ')}",
        value=value if isinstance(value, (int, float, str)) else str(value),
        unit=ITEM_UNITS.get(name, ""),
        source=source.title if source else figure.source,
        confidence=figure.confidence,
        note=figure.note,
    )
