"""The inputs of the sizing model, with what the solved plan used for each."""

from __future__ import annotations

from typing import Literal, get_args

from planner.figures import FIGURES
from planner.outputs import scope
from planner.outputs.workbook.bom.columns import job_gpus
from planner.outputs.workbook.book import RATE
from planner.outputs.workbook.cells import (
    DECIMAL_1,
    DECIMAL_2,
    DECIMAL_3,
    GENERAL,
    INTEGER,
    PERCENT,
    PERCENT_2,
    SMALL,
)
from planner.outputs.workbook.checkpoint.levels import local_inputs
from planner.outputs.workbook.checkpoint.model import degraded_inputs
from planner.outputs.workbook.rows import NO_LIMIT, NOT_GIVEN, Input, Inputs
from planner.outputs.workbook.ways import chosen_from
from planner.schema.beside import Ways
from planner.schema.plan import JobPlan, Plan, Repair
from planner.schema.running import LONGEST_S

FanOutKind = Literal["broadcast", "sharded_optimizer", "every_replica"]


def input_sections(plan: Plan, job: JobPlan, ways: Ways | None, *, money: bool) -> list[Inputs]:
    """Return the inputs under their headings.

    Args:
        ways: the ways in which the job may run, where they stand on a sheet.
    """
    return [
        (
            "Inputs: checkpoint and restore",
            (*_checkpoint(job, money=money), *local_inputs(job), *_restore(job)),
        ),
        *([("Inputs: repair", _repair(job.repair))] if job.repair is not None else []),
        ("Inputs: limits of the job", _limits(plan, job)),
        (
            "Inputs: cluster and storage",
            (
                *_cluster(plan, job),
                *_storage(plan),
                *degraded_inputs(plan, job),
            ),
        ),
        (
            "Inputs: training and cost" if money else "Inputs: training and site",
            (*_training(job, ways), *_prices(plan, money=money)),
        ),
    ]


def _checkpoint(job: JobPlan, *, money: bool) -> tuple[Input, ...]:
    policy = f"policy of the plan: {job.interval_policy.replace('_', ' ')}"
    stall_s = job.stall_s if job.mode == "async" else None
    return (
        Input.of("checkpoint_gb", job.checkpoint_gb, DECIMAL_1, low=1e-9),
        Input("save_mode", "How checkpoints are saved", "", job.mode, GENERAL,
              "async: the GPUs go on while storage drains; sync: they wait for it",
              choices=("async", "sync")),
        Input("async_stall_s", "Stall of one asynchronous checkpoint", "s", stall_s, DECIMAL_2,
              "give it before switching from sync to async" if stall_s is None else ""),
        Input.of("interval_s", job.interval_s, DECIMAL_1,
                 f"{policy if money else 'chosen for the plan'}; does not follow edits; "
                 f"{FIGURES['interval_s'].note}", low=1e-9),
        Input.of("drain_slowdown", job.drain_slowdown, PERCENT, high=1.0),
    )  # fmt: skip


def _restore(job: JobPlan) -> tuple[Input, ...]:
    return (
        Input.of("failures_per_gpu_day", job.failures_per_gpu_day, SMALL, low=1e-12),
        Input.of("restart_s", job.restart_s, DECIMAL_1),
        Input("restore_fan_out", "How a restore reaches the replicas", "", job.fan_out_kind,
              GENERAL,
              "broadcast: read once; sharded_optimizer: each further replica reads 2 bytes per "
              "parameter; every_replica: each reads all", choices=get_args(FanOutKind)),
        Input.of("bytes_per_parameter", job.bytes_per_parameter, DECIMAL_2,
                 "counts only where the optimizer is sharded; the checkpoint size does not follow "
                 "it", low=2.0, high=64.0),
        Input.of("checkpoints_held", job.checkpoints_held, INTEGER,
                 FIGURES["checkpoints_held"].note, low=1, whole=True, unit=""),
        Input.of("other_data_tb", job.other_data_tb, DECIMAL_1, FIGURES["other_data_tb"].note),
    )  # fmt: skip


def _repair(repair: Repair) -> tuple[Input, ...]:
    rows = [
        Input.of("repair.hardware_share", repair.hardware_share, PERCENT, low=1e-6, high=1.0),
        Input.of("repair.repair_s", repair.repair_s, DECIMAL_1,
                 f"one {repair.unit}, {FIGURES['repair.repair_s'].note}", low=1e-3, high=LONGEST_S),
        Input.of("repair.swap_s", repair.swap_s, DECIMAL_1, FIGURES["repair.swap_s"].note),
    ]  # fmt: skip
    if not repair.in_rack and not repair.decided:
        rows.append(Input.of("repair.spares", repair.spares, INTEGER, whole=True))
    return tuple(rows)


_LIMITS = (
    ("overlap", "max_overlap", FIGURES["max_overlap"].heading, "share", PERCENT, 1.0),
    ("blocking", "max_blocking", FIGURES["max_blocking"].heading, "share", PERCENT, 0.99),
    ("restore_time", "max_restore_s", "Longest restore time", "s", DECIMAL_1, 1e15),
)


_OTHER_MODE = {"overlap": "async", "blocking": "sync"}


def _limits(plan: Plan, job: JobPlan) -> tuple[Input, ...]:
    """Return the limits that the plan has, and those of the other way to save checkpoints.

    A limit it has not cannot be made up here.
    """
    solved = {limit.name: limit.limit for limit in plan.limits}
    waiting = {"overlap": job.max_overlap, "blocking": job.max_blocking}
    rows = []
    for limit, name, label, unit, number, high in _LIMITS:
        value, mode = solved.get(limit, waiting.get(limit)), _OTHER_MODE.get(limit)
        if limit not in solved and value is not None:
            name, label = f"{name}_if_{mode}", f"{label}, when {mode}"
        if value is not None:
            rows.append(Input(name, label, unit, value, number, NO_LIMIT, low=1e-9, high=high))
    return tuple(rows)


def _cluster(plan: Plan, job: JobPlan) -> tuple[Input, ...]:
    return (
        *_left(plan, job),
        Input.of("replica_gpus", job.replica_gpus, INTEGER, _given(job.replica_gpus), low=1,
                 high=1e7, whole=True),
        *_clients(
            "write",
            "writers",
            job.writers,
            job.client_write_limit_gb_per_s / max(1, job.writing_systems),
        ),
        *_clients(
            "read",
            "readers",
            job.readers,
            job.client_read_limit_gb_per_s / max(1, job.reading_systems),
        ),
        Input("ingest_per_gpu_gb_per_s", "Training data read per GPU in use", "GB/s",
              job.ingest_gb_per_s / job.gpus_used, DECIMAL_3),
    )  # fmt: skip


def _left(plan: Plan, job: JobPlan) -> tuple[Input, ...]:
    """Return what the job leaves of the GPUs it could use: spares standing by, or a number."""
    if not job.spares_move or job.repair is None:
        return (
            Input("gpus_idle", "GPUs that the job could use but does not", "GPUs",
                  job_gpus(plan) - job.gpus_used, INTEGER,
                  "GPUs in use = GPUs of the bill of materials that the job can use, less these",
                  whole=True),
        )  # fmt: skip
    line = next(line for line in plan.lines if line.sku == job.gpu_type and line.parent is None)
    most = job.most_gpus_beside(line.working, job.repair.spares, line.gpus // line.working)
    note = f"units of {job.repair.unit_gpus} GPUs; GPUs in use = the most that these leave"
    return (
        Input.of("repair.spares", job.repair.spares, INTEGER, note, whole=True),
        Input("gpus_besides", "GPUs that the job leaves besides its spares", "GPUs",
              most - job.gpus_used, INTEGER, "as solved", locked=True),
    )  # fmt: skip


def _clients(kind: str, name: str, who: str, each_gb_per_s: float) -> tuple[Input, ...]:
    return (
        Input(name, f"GPU systems that {kind}", "", who, GENERAL,
              "all: all in use; one_replica: those that hold one replica",
              choices=("all", "one_replica")),
        Input(f"client_{kind}_gb_per_s", f"Client limit per system, {kind}", "GB/s", each_gb_per_s,
              DECIMAL_2, NO_LIMIT, low=1e-9),
    )  # fmt: skip


def _storage(plan: Plan) -> tuple[Input, ...]:
    site = plan.site
    return (
        Input.of("delivered_fraction_write", site.delivered_fraction_write, PERCENT, low=1e-6,
                 high=1.0),
        Input.of("delivered_fraction_read", site.delivered_fraction_read, PERCENT, low=1e-6,
                 high=1.0),
        Input.of("fill_limit", site.fill_limit, PERCENT, low=1e-6, high=1.0),
    )  # fmt: skip


def _rate(job: JobPlan, ways: Ways | None) -> tuple[Input, ...]:
    """Return the rate of a GPU, or the way in which the job runs, which gives it."""
    if ways is not None and len(ways.rows) > 1:
        choices = tuple(row.label for row in ways.rows)
        return (
            Input("way", "Way in which the job runs", "", ways.chosen, GENERAL,
                  "precision and power cap: a row of the sheet Ways", choices=choices,
                  listed=chosen_from(ways)),
        )  # fmt: skip
    if ways is not None:
        return ()
    note = "of every type in use" if len(job.gpu_types) > 1 else ""
    if job.rate_share != 1.0:
        note = (
            f"{job.tflops_per_gpu:,.1f} times {job.rate_share:.2%}, which the power set point and "
            f"the law of scale leave at {job.gpus_used:,} GPUs"
        )
    rate = job.tflops_per_gpu * job.rate_share
    return (
        Input.of("tflops_per_gpu", rate, DECIMAL_1, note, low=1e-6, locked=job.rate_share != 1.0),
    )  # fmt: skip


def _training(job: JobPlan, ways: Ways | None) -> tuple[Input, ...]:
    measured = any(way.rate_tflops is not None for way in job.ways)
    of_rate = "the measured rate by the peak" if measured else _given(job.mfu)
    return (
        *_rate(job, ways),
        Input.of("mfu", job.mfu, PERCENT, of_rate, low=1e-6, high=1.0, locked=measured),
        Input.of("tokens", _in(job.tokens, 1e12), DECIMAL_3, _given(_in(job.tokens, 1e12)),
                 low=1e-9, name="tokens_trillion", unit="trillions"),
        Input.of("active_parameters", _in(job.active_parameters, 1e9), DECIMAL_1,
                 _given(_in(job.active_parameters, 1e9)), low=1e-9,
                 name="active_parameters_billion", unit="billions"),
    )  # fmt: skip


def _given(value: float | None) -> str:
    """Return the note of an input that is blank where the problem does not give it."""
    return NOT_GIVEN if value is None else ""


def _in(count: float | None, unit: float) -> float | None:
    return None if count is None else count / unit


def _prices(plan: Plan, *, money: bool) -> tuple[Input, ...]:
    """Return the inputs of cost, each where the plan has it; without money the PUE alone."""
    site = plan.site
    two = scope.two_pues(plan)
    label = FIGURES["pue"].heading
    rows = [
        Input("pue", f"{label} of heat to air" if two else label, "", site.pue, DECIMAL_3, low=1.0,
              high=5.0)
    ]  # fmt: skip
    if two:
        kind = f"{label} of heat to liquid"
        rows.append(Input("pue_liquid", kind, "", site.pue_liquid, DECIMAL_3, low=1.0, high=5.0))
    if not money:
        return tuple(rows)
    rows += _exchange(plan)
    rows += [
        Input.of(
            "electricity_usd_per_kwh",
            site.electricity_usd_per_kwh,
            DECIMAL_3,
            _given(site.electricity_usd_per_kwh),
        ),
        Input.of("years", site.years, DECIMAL_1, _given(site.years), low=0.01, high=50.0),
        *_rates(plan),
    ]
    return tuple(rows)


def _exchange(plan: Plan) -> list[Input]:
    """Return what the currency shown is in USD, where it is another."""
    money = plan.shown_in
    if money.code == "USD":
        return []
    note = f"of {money.on}, {money.source}; list prices that are in another currency follow it"
    label = f"{money.code}: what one is in USD"
    return [Input(RATE, label, f"USD/{money.code}", money.usd, "0.00####", note, low=1e-9,
                  high=1e9)]  # fmt: skip


def _rates(plan: Plan) -> tuple[Input, ...]:
    """Return the prices of time, room and tokens, each where the plan has it."""
    site = plan.site
    rows = []
    if site.colocation_usd_per_kw_month > 0 or scope.limited(plan, "colocation"):
        label, unit = FIGURES["colocation_usd_per_kw_month"].heading, "USD/kW/month"
        price = site.colocation_usd_per_kw_month
        rows.append(Input("colocation_usd_per_kw_month", label, unit, price, DECIMAL_2))
    if scope.over_time(plan):
        rate, note = site.discount_rate, "what is paid later counts less; 0 for none"
        rows.append(
            Input.of("discount_rate", rate, PERCENT_2, note, high=1.0)
        )  # fmt: skip
    return tuple(rows)
