"""The workings behind goodput and the best interval: steps a single formula cannot hold."""

from __future__ import annotations

from planner.outputs.workbook import formulas
from planner.outputs.workbook.checkpoint.rows import Result, Results

_STEPS = 6
_SERIES_BELOW = 0.1
_PRECISE = "0.000000000"


def section() -> Results:
    """Return the helper rows; the last Newton step is z = I/M of the best interval."""
    rows = (
        Result(
            "charged_stall_s",
            "Stall plus slowdown x drain",
            "s",
            "stall_s+drain_slowdown*drain_s",
            number="0.000",
        ),
        Result(
            "rework_factor",
            "Rework factor",
            "",
            formulas.rework_factor("interval_per_mtti"),
            "z / (exp(z) - 1), by its series for small z",
            _PRECISE,
        ),
        Result(
            "loss_per_log",
            "Share lost per unit of -ln(goodput)",
            "",
            "IF(goodput<=0,0,IF(goodput>=1,1,(1-goodput)/-LN(goodput)))",
            "",
            _PRECISE,
        ),
        *_newton(),
    )
    return ("Workings", rows)


def _newton() -> tuple[Result, ...]:
    """Return the Newton steps for z - (1 - exp(-z)) = s/M."""
    rows = [
        Result(
            "stall_per_mtti",
            "s/M",
            "",
            "charged_stall_s/mtti_s",
            "",
            _PRECISE,
        ),
        Result(
            "newton_0",
            "z, first guess",
            "",
            "MIN(1+stall_per_mtti,SQRT(2*stall_per_mtti)+stall_per_mtti)",
            "solves z - (1 - exp(-z)) = s/M",
            _PRECISE,
        ),
    ]
    for step in range(1, _STEPS + 1):
        before = f"newton_{step - 1}"
        text = f"IF({before}=0,0,{before}-({_deficit(before)}-stall_per_mtti)/"
        rows.append(
            Result(
                f"newton_{step}",
                f"z, Newton step {step}",
                "",
                f"{text}(1-EXP(-{before})))",
                "",
                _PRECISE,
            )
        )
    return tuple(rows)


def _deficit(z: str) -> str:
    series = f"{z}^2*(1/2-{z}*(1/6-{z}*(1/24-{z}*(1/120-{z}*(1/720-{z}/5040)))))"
    return f"IF({z}<{_SERIES_BELOW},{series},{z}-1+EXP(-{z}))"
