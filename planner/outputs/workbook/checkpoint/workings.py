"""The workings behind goodput and the best interval: steps a single formula cannot hold."""

from __future__ import annotations

import math

from planner.outputs.workbook import formulas
from planner.outputs.workbook.checkpoint.rows import Result, Results
from planner.schema.plan import JobPlan

_STEPS = 6
_SERIES_BELOW = 0.1
_PRECISE = "0.000000000"


def section(job: JobPlan) -> Results:
    """Return the helper rows; the last Newton step is z = I/M of the best interval."""
    drain_s = 0.0 if job.mode == "sync" else job.drain_s
    charged_s = job.stall_s + job.drain_slowdown * drain_s
    rows = (
        Result(
            "charged_stall_s",
            "Stall plus slowdown x drain",
            "s",
            charged_s,
            "stall_s+drain_slowdown*drain_s",
            number="0.000",
        ),
        Result(
            "rework_factor",
            "Rework factor",
            "",
            _rework_factor(job.interval_s / job.mtti_s),
            formulas.rework_factor("interval_per_mtti"),
            "z / (exp(z) - 1), by its series for small z",
            _PRECISE,
        ),
        Result(
            "loss_per_log",
            "Share lost per unit of -ln(goodput)",
            "",
            _loss_per_log(job.goodput),
            "IF(goodput<=0,0,IF(goodput>=1,1,(1-goodput)/-LN(goodput)))",
            "",
            _PRECISE,
        ),
        *_newton(charged_s / job.mtti_s),
    )
    return ("Workings", rows)


def _rework_factor(z: float) -> float:
    return -z * math.exp(-z) / math.expm1(-z)


def _loss_per_log(goodput: float) -> float:
    if goodput <= 0:
        return 0.0
    return 1.0 if goodput >= 1 else (1 - goodput) / -math.log(goodput)


def _newton(stall_per_mtti: float) -> tuple[Result, ...]:
    """Return the Newton steps for z - (1 - exp(-z)) = s/M."""
    z = min(1 + stall_per_mtti, math.sqrt(2 * stall_per_mtti) + stall_per_mtti)
    rows = [
        Result(
            "stall_per_mtti",
            "s/M",
            "",
            stall_per_mtti,
            "charged_stall_s/mtti_s",
            "",
            _PRECISE,
        ),
        Result(
            "newton_0",
            "z, first guess",
            "",
            z,
            "MIN(1+stall_per_mtti,SQRT(2*stall_per_mtti)+stall_per_mtti)",
            "solves z - (1 - exp(-z)) = s/M",
            _PRECISE,
        ),
    ]
    for step in range(1, _STEPS + 1):
        if z > 0:
            z -= (_deficit(z) - stall_per_mtti) / -math.expm1(-z)
        before = f"newton_{step - 1}"
        text = f"IF({before}=0,0,{before}-({_deficit_formula(before)}-stall_per_mtti)/"
        rows.append(
            Result(
                f"newton_{step}",
                f"z, Newton step {step}",
                "",
                z,
                f"{text}(1-EXP(-{before})))",
                "",
                _PRECISE,
            )
        )
    return tuple(rows)


def _deficit(z: float) -> float:
    if z >= _SERIES_BELOW:
        return z + math.expm1(-z)
    return z * z * (1 / 2 - z * (1 / 6 - z * (1 / 24 - z * (1 / 120 - z * (1 / 720 - z / 5040)))))


def _deficit_formula(z: str) -> str:
    series = f"{z}^2*(1/2-{z}*(1/6-{z}*(1/24-{z}*(1/120-{z}*(1/720-{z}/5040)))))"
    return f"IF({z}<{_SERIES_BELOW},{series},{z}-1+EXP(-{z}))"
