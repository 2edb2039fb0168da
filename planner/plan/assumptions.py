"""Assumptions of a plan: inputs of the problem and catalog figures, with source and confidence."""

from __future__ import annotations

from collections.abc import Iterator

from planner.case import Case, figures
from planner.case.figures import CLIENT_GB_PER_S_PER_GPU
from planner.figures import FIGURES, ITEM_UNITS
from planner.inputs import Inputs
from planner.loader.catalogs import catalog_figures
from planner.optimizer.bill import bill
from planner.optimizer.operate import Run
from planner.paths import job_path
from planner.schema.catalog import Item
from planner.schema.job import DEFAULT_FAILURES
from planner.schema.plan import Assumption
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.sizing.goodput import FAILURES_PER_GPU_DAY, LOST_TIME


def assumptions(inputs: Inputs, case: Case, run: Run) -> tuple[Assumption, ...]:
    """The problem's assumptions, then those of each item in the plan."""
    known = inputs.by_id
    result = [*_site(inputs, case), *_job(inputs, case, run), *_term(inputs)]
    counts = bill(case, run.units, run.ways).counts
    for bill_item in case.bill_items():
        if counts[bill_item.id]:
            item = known[bill_item.id]
            drives = case.job.derived_stall or run.mode == "local"
            result += _item(inputs, item, drives=drives)
            for part in item.components:
                result += _item(inputs, known[part.id])
    return tuple(result)


def _input_assumption(
    inputs: Inputs,
    name: str,
    label: str,
    value: float,
    unit: str,
    path: str,
    note: str | None = None,
) -> Assumption:
    """An input at a path of the problem file, or its default."""
    source = inputs.where(path) or "default"
    return Assumption(name=name, label=label, value=value, unit=unit, source=source, note=note)


def _site(inputs: Inputs, case: Case) -> Iterator[Assumption]:
    for side, share, seen in (
        ("write", case.delivered_write, "0.16 to 0.40"),
        ("read", case.delivered_read, "0.2 to 1.0"),
    ):
        name, note = f"delivered_fraction.{side}", f"observed in production: {seen}"
        label = f"delivered share of nameplate {side}"
        yield _input_assumption(inputs, name, label, share, "share", f"storage.{name}", note)
    site, label = inputs.problem.site, "power usage effectiveness"
    if site.pue_air == site.pue_liquid:
        yield _input_assumption(inputs, "pue", label, site.pue_air, "ratio", "site.pue")
        return
    for name, heated, value in (
        ("pue.air", "the air", site.pue_air),
        ("pue.liquid", "a liquid", site.pue_liquid),
    ):
        said = f"{label} of what heats {heated}"
        yield _input_assumption(inputs, name, said, value, "ratio", f"site.{name}")


def _job(inputs: Inputs, case: Case, run: Run) -> Iterator[Assumption]:
    job, stated = case.job, inputs.problem.job
    path = "checkpoint.size" if stated.checkpoint.size_gb else "bytes_per_parameter"
    label, note = FIGURES["checkpoint_gb"].label, _bytes_note(inputs)
    size = job.checkpoint_gb
    yield _input_assumption(inputs, "checkpoint_size", label, size, "GB", job_path(path), note)
    yield _failures(inputs, run)
    label, path = "stall per asynchronous checkpoint", "checkpoint.stall"
    if job.derived_stall:
        label, path = f"{label}, beside the copy to the hosts", "checkpoint.stall_overhead"
    note = "reported: 0.3 to 7 s; see docs/sizing.md"
    yield _input_assumption(inputs, "stall", label, job.stall_s, "s", job_path(path), note)
    path = "restore.restart"
    label, note = FIGURES["restart_s"].label, "reported: 120 to 1200 s"
    yield _input_assumption(inputs, "restart", label, job.restart_s, "s", job_path(path), note)
    if job.lost_time:
        label, note = "lost time besides failures", f"{LOST_TIME.meaning} ({LOST_TIME.source})"
        path = job_path("lost_time")
        yield _input_assumption(inputs, "lost_time", label, job.lost_time, "share", path, note)
    if run.mode == "local":
        yield from _local_level(inputs, case)
    yield from _repair(inputs)
    yield from _drive_writes(inputs, case, run)
    yield Assumption(
        name="client_limit",
        label="client limit per GPU of a system, where nothing else is given",
        value=CLIENT_GB_PER_S_PER_GPU,
        unit="GB/s",
        source='S. Kartik and C. Tartow, VAST Data, "A Checkpoint on Checkpoints in LLMs", '
        "2024-01-10",
        note="8 buffered writer threads move about 8 GB/s per 8-GPU system",
    )


def _bytes_note(inputs: Inputs) -> str | None:
    each = inputs.problem.job.bytes_per_parameter
    if inputs.problem.job.checkpoint.size_gb is not None:
        return None
    if isinstance(each, str):
        preset = BYTES_PER_PARAMETER[each]
        return f"{preset.value:g} bytes per parameter: {preset.meaning} ({preset.source})"
    return f"{each:g} bytes per parameter"


def _failures(inputs: Inputs, run: Run) -> Assumption:
    job = inputs.problem.job
    preset_name = job.failure_rate if "failures" in job.model_fields_set else DEFAULT_FAILURES
    label, rate = "job-interrupting failures", run.failures_per_gpu_day
    given = _input_assumption(inputs, "failures", label, rate, "per GPU-day", job_path("failures"))
    if not isinstance(preset_name, str):
        return given
    preset = FAILURES_PER_GPU_DAY[preset_name]
    source, note = (
        f"{given.source}: preset {preset_name}",
        f"{preset.meaning} ({preset.source})",
    )
    return given.model_copy(update={"source": source, "note": note})


def _local_level(inputs: Inputs, case: Case) -> Iterator[Assumption]:
    levels = case.job.levels
    assert levels is not None
    label, note = (
        "restart from the local level, with the read",
        "no times by level are published; try half and twice of it",
    )
    path, restart_s = job_path("checkpoint.local.restart"), levels.local_restart_s
    yield _input_assumption(inputs, "local_restart", label, restart_s, "s", path, note)
    label, note = (
        "interruptions that no local copy survives",
        "follows from the shares of the classes and what each recovers from; no measured split "
        "is published",
    )
    path = job_path("failures.shares")
    yield _input_assumption(inputs, "remote_share", label, levels.remote_share, "share", path, note)


def _repair(inputs: Inputs) -> Iterator[Assumption]:
    repair, path = inputs.problem.job.repair, job_path("repair")
    if repair is None:
        return
    share, hours = repair.share, repair.time_s / 3600.0
    label = FIGURES["repair.hardware_share"].label
    note = "Llama 3: 0.78 confirmed or suspected hardware (arXiv 2407.21783)"
    yield _input_assumption(inputs, "repair.share", label, share, "share", path, note)
    label = f"repair time of a {repair.unit}, on average"
    note = "little is published: 2.5 h for a tray to days for a rack"
    yield _input_assumption(inputs, "repair.time", label, hours, "h", path, note)
    label = "how much longer a restart takes with failed hardware"
    yield _input_assumption(inputs, "repair.swap", label, repair.swap_s, "s", path)


def _drive_writes(inputs: Inputs, case: Case, run: Run) -> Iterator[Assumption]:
    """Drive writes a day of flash whose endurance is derived, by kind."""
    bought = (inputs.item(item.id) for item in case.bought(run.units))
    kinds = {kind for item in bought for kind, _ in figures.derived_endurance(item, inputs)}
    note = (
        "usual ratings over five years: TLC 1, QLC 0.3 to 0.6; no data sheet of these drives is "
        "compared"
    )
    for kind in sorted(kinds):
        name, label = f"dwpd.{kind}", f"drive writes a day of {kind.upper()} flash"
        often = getattr(inputs.problem.storage.dwpd, kind)
        yield _input_assumption(inputs, name, label, often, "per day", f"storage.dwpd.{kind}", note)


def _term(inputs: Inputs) -> Iterator[Assumption]:
    term, label = inputs.problem.term, FIGURES["electricity_usd_per_kwh"].label
    if term is not None:
        price, path = term.electricity_usd_per_kwh, "term.electricity"
        yield _input_assumption(inputs, "electricity", label, price, "USD/kWh", path)
        yield _input_assumption(inputs, "years", "term", term.years, "years", "term.years")


def _item(inputs: Inputs, item: Item, *, drives: bool = False) -> Iterator[Assumption]:
    """Catalog figures of an item; those of its local drives where they count."""
    sources = inputs.item_sources.get(item.id, {})

    def title(source: str) -> str:
        return sources[source].title if source in sources else source

    for name, figure in catalog_figures(item):
        if name.startswith("facts." if drives else ("facts.", "local.")):
            continue
        value = figure.value
        yield Assumption(
            name=f"{item.id}.{name}",
            label=f"{item.model}: {name.split('.')[-1].replace('_', ' ')}",
            value=value if isinstance(value, (int, float, str)) else str(value),
            unit=ITEM_UNITS.get(name, ""),
            source=title(figure.source),
            confidence=figure.confidence,
            note=figure.note,
        )
    if item.sizes is not None:
        rows = item.sizes.rows
        yield Assumption(
            name=f"{item.id}.sizes",
            label=f"{item.model}: bandwidth by number of units",
            value=f"{len(rows)} published sizes, {rows[0].units} to {rows[-1].units} units",
            unit="",
            source=title(item.sizes.source),
            confidence=item.sizes.confidence,
            note=item.sizes.note,
        )
