"""Rows of the table: what a scenario's plan is, taken from the plan after its verification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.assemble import assemble
from planner.assemble.binding import systems_of_a_step
from planner.case import Case
from planner.case.model import Limits
from planner.errors import VerificationError
from planner.optimizer import purchase
from planner.optimizer.joint import Certificate
from planner.optimizer.operate import Operation
from planner.optimizer.purchase import amounts, given, used
from planner.schema.plan import Plan
from planner.schema.sensitivity import PLANNED
from planner.studies.sensitivity.alike import Asked
from planner.studies.sensitivity.options import Answer
from planner.studies.sensitivity.scenario import COUNT_PREFIX, Row
from planner.verify import verify


def rows(asked: Asked, answers: Sequence[Answer]) -> Iterator[Row]:
    """Yield the row of each answer of a group; every plan is verified where it is first used."""
    known: dict[int, _Used] = {}
    for place, answer in enumerate(answers):
        run = answer.operation
        if run is None or answer.status not in PLANNED:
            yield blank(answer)
            continue
        try:
            if id(run) not in known:
                known[id(run)] = _Used.of(asked, place, answer, run)
        except VerificationError as error:
            yield blank(answer) | {"status": "failed", "reason": str(error)}
            continue
        plan = known[id(run)]
        yield plan.row | _answer(answer) | {"binding": plan.binding(asked.limits[place])}


def blank(answer: Answer) -> Row:
    """Return the row of a scenario without a plan."""
    return {
        "status": answer.status,
        "bound": answer.bound,
        "certificate": answer.certificate or None,
        "reason": answer.reason or None,
    }


def _answer(answer: Answer) -> Row:
    return {
        "status": answer.status,
        "objective": answer.value,
        "bound": answer.bound,
        "gap": answer.gap,
        "certificate": answer.certificate,
    }


@dataclass(frozen=True)
class _Used:
    """A verified plan: its columns, and what decides under other limits which of them bind.

    ``always`` bind wherever this plan is kept; ``more`` is what it would take with one more of each
    GPU system in use.
    """

    row: Row
    always: frozenset[str]
    more: NDArray[np.float64]

    @classmethod
    def of(cls, asked: Asked, place: int, answer: Answer, run: Operation) -> _Used:
        """Return a plan's columns once its independent re-computation agrees.

        Raises:
            VerificationError: it does not.
        """
        case, inputs = asked.case_of(place), asked.inputs_of(place)
        certificate = Certificate(
            "optimal" if answer.status == "optimal" else "feasible",
            run, answer.log_value, answer.log_bound, answer.gap, 0, 0.0, False,
        )  # fmt: skip
        plan = assemble(inputs, case, certificate, solver="highs", gap=asked.options.gap)
        verify(inputs, plan)
        supplies = given(asked.case.limits)
        rows_of = {supply.name for supply in supplies}
        always = {limit.name for limit in plan.limits if limit.binding} - rows_of
        more = [used(supplies, bill) for bill in _one_more(asked.case, run)]
        matrix = np.array(more).reshape(len(more), len(supplies))
        return cls(_columns(plan, run), frozenset(always), matrix)

    def binding(self, limits: Limits) -> str | None:
        """Return the names of the limits that hold the plan where it is."""
        supplies = given(limits)
        names = set(self.always)
        if supplies and len(self.more):
            over = self.more > amounts(supplies, limits) * (1 + purchase.TOLERANCE)
            broken = np.any(over, axis=0).tolist()
            names |= {each.name for each, one in zip(supplies, broken, strict=True) if one}
        return ", ".join(sorted(names)) or None


def _one_more(case: Case, run: Operation) -> Iterator[purchase.Bill]:
    """Yield the bill with more of each GPU system in use: one, or as many as a replica takes."""
    if not case.maximise:
        return
    for system in case.systems:
        if system.id not in run.used:
            continue
        count = run.units[system.id] + systems_of_a_step(case, run, system)
        if system.high is None or count <= system.high:
            with suppress(ValueError):  # no fabric is so large
                yield purchase.bill(case, {**run.units, system.id: count})


def _columns(plan: Plan, run: Operation) -> Row:
    totals, job = plan.totals, plan.jobs[0]
    assert totals is not None
    storage = [line.working for line in plan.lines if line.category == "storage"]
    figures: Row = {
        "capex_usd": totals.capex_usd,
        "opex_usd_per_year": totals.opex_usd_per_year,
        "tco_usd": totals.tco_usd,
        "it_power_kw": totals.it_power_kw,
        "facility_power_kw": totals.facility_power_kw,
        "racks": totals.racks,
        "gpus": totals.gpus,
        "storage_units": sum(storage),
        "gpu_type": job.gpu_type,
        "storage_family": job.storage_family,
        "gpus_in_use": job.gpus_used,
        "mode": run.mode,
        "interval_s": job.interval_s,
        "stall_s": job.stall_s,
        "drain_s": job.drain_s,
        "overlap": job.overlap,
        "restore_s": job.restore_s,
        "mtti_s": job.mtti_s,
        "goodput": job.goodput,
        "useful_gpus": job.useful_gpus,
        "useful_pflops": job.useful_pflops,
        "write_gb_per_s": job.delivered_write_gb_per_s,
        "read_gb_per_s": job.delivered_read_gb_per_s,
        "days_to_train": job.days_to_train,
    }
    counts = {COUNT_PREFIX + name: count for name, count in run.units.items() if count}
    return figures | counts
