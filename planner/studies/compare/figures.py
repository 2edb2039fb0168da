"""The figures of a plan that are compared: what it comes to, how the job runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planner.schema.plan import Plan

Scalar = float | str | None


@dataclass(frozen=True)
class Figure:
    """A figure: its name and words, and where a plan has it."""

    name: str
    group: str
    label: str
    unit: str
    read: Callable[[Plan], Scalar]


def _of_totals(name: str, group: str, label: str, unit: str) -> Figure:
    def read(plan: Plan) -> Any:
        return None if plan.totals is None else getattr(plan.totals, name)

    return Figure(name, group, label, unit, read)


def of_job(name: str, group: str, label: str, unit: str) -> Figure:
    """Return a figure of the job.

    Args:
        name: a field of `JobPlan`.
        group: the heading it stands under.
        label: what it is, in words.
        unit: its unit.
    """

    def read(plan: Plan) -> Any:
        return getattr(plan.jobs[0], name) if plan.jobs else None

    return Figure(name, group, label, unit, read)


_BUY, _RUN, _MONEY, _LOST = "What it comes to", "How the job runs", "Money", "Where time goes"


def _lost(name: str, label: str) -> Figure:
    def read(plan: Plan) -> Any:
        return getattr(plan.jobs[0].loss, name) if plan.jobs else None

    return Figure(f"loss.{name}", _LOST, f"lost to {label}", "share", read)


FIGURES: tuple[Figure, ...] = (
    _of_totals("gpus", _BUY, "GPUs bought", ""),
    of_job("gpus_used", _BUY, "GPUs in use", ""),
    _of_totals("it_power_kw", _BUY, "IT power", "kW"),
    _of_totals("facility_power_kw", _BUY, "power at the meter", "kW"),
    _of_totals("racks", _BUY, "racks", ""),
    _of_totals("weight_kg", _BUY, "weight", "kg"),
    _of_totals("read_gb_per_s", _BUY, "storage read, nameplate", "GB/s"),
    _of_totals("write_gb_per_s", _BUY, "storage write, nameplate", "GB/s"),
    _of_totals("usable_tb", _BUY, "usable capacity", "TB"),
    _of_totals("lead_time_days", _BUY, "longest lead time", "days"),
    of_job("useful_pflops", _RUN, "useful work", "PFLOP/s"),
    of_job("useful_gpus", _RUN, "useful GPUs", ""),
    of_job("goodput", _RUN, "goodput", "share"),
    of_job("days_to_train", _RUN, "days to train", ""),
    of_job("interval_s", _RUN, "checkpoint every", "s"),
    of_job("stall_s", _RUN, "GPUs wait per checkpoint", "s"),
    of_job("drain_s", _RUN, "checkpoint drained within", "s"),
    of_job("overlap", _RUN, "share of the interval", "share"),
    of_job("restore_s", _RUN, "reading a restore", "s"),
    of_job("mtti_s", _RUN, "an interruption every", "s"),
    of_job("delivered_write_gb_per_s", _RUN, "write delivered", "GB/s"),
    of_job("delivered_read_gb_per_s", _RUN, "read delivered", "GB/s"),
    of_job("write_volume_tb_per_day", _RUN, "written a day", "TB"),
    _lost("stall", "checkpoint stalls and slowdown"),
    _lost("rework", "work done again"),
    _lost("drain", "checkpoints not yet drained"),
    _lost("restart", "restarts"),
    _lost("restore", "reading restores"),
    _of_totals("capex_usd", _MONEY, "capital cost", "USD"),
    _of_totals("opex_usd_per_year", _MONEY, "running cost a year", "USD/year"),
    _of_totals("energy_usd_per_year", _MONEY, "energy a year", "USD/year"),
    _of_totals("support_usd_per_year", _MONEY, "support a year", "USD/year"),
    _of_totals("tco_usd", _MONEY, "cost over the term", "USD"),
    _of_totals("usd_per_useful_gpu_hour", _MONEY, "a useful GPU-hour", "USD"),
    _of_totals("usd_per_million_tokens", _MONEY, "a million tokens", "USD"),
)  # fmt: skip
"""What is compared of every plan, in the order it is shown in."""
