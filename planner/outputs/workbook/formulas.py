"""Formulas that more than one sheet needs, over whatever names or cells hold their terms."""

from __future__ import annotations

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.schema.plan import JobPlan, Line

TIME_TOLERANCE = 1e-7
"""Relative: times are quotients of floats that a plan drives to its very limit."""

SERIES_BELOW = 0.0001
"""Below this z the difference 1 - exp(-z) would lose its digits."""


def cell_range(first: int, column: int, last: int, last_column: int | None = None) -> str:
    """Return the absolute address of a block of cells, from zero-based rows and columns.

    A single cell is written as a range, too: some functions take no other.

    Args:
        first, last: its rows.
        column, last_column: its columns; a single one by default.
    """
    end = xl_rowcol_to_cell(last, column if last_column is None else last_column, True, True)
    return f"{xl_rowcol_to_cell(first, column, True, True)}:{end}"


def gpus_of_system(job: JobPlan, line: Line) -> int:
    """Return the GPUs of one system that the job may use, whether replicas fill them or not."""
    return min(line.gpus // line.working, job.per_system_gpus or line.gpus)


def usable_gpus(job: JobPlan, line: Line) -> str:
    """Return how many GPUs of one system can hold parts of replicas, by the GPUs of a replica.

    Args:
        line: a line of a GPU type that it uses.
    """
    domain = gpus_of_system(job, line)
    if not job.whole_replicas:
        return f"{domain}"
    within, across = (
        f"INT({domain}/{each})*{each}" for each in ("replica_gpus", f"{job.tensor_gpus}")
    )
    usable = f"IF(replica_gpus<={domain},{within},{across})"
    return f"IF(ISNUMBER(replica_gpus),{usable},{domain})"


def known(*cells: str) -> str:
    """Return the condition that every cell holds a number.

    Excel keeps truth values and numbers apart: there ``ISNUMBER(x)=1`` is FALSE whatever x holds,
    while LibreOffice takes TRUE for 1. So a condition is never compared with a number.

    Args:
        cells: names or addresses.
    """
    if len(cells) == 1:
        return f"ISNUMBER({cells[0]})"
    return f"AND({','.join(f'ISNUMBER({cell})' for cell in cells)})"


def rework_factor(z: str) -> str:
    """Return z / (exp(z) - 1), by its series for small z.

    Args:
        z: interval / MTTI.
    """
    return f"IF({z}<{SERIES_BELOW},EXP(-{z}/2-{z}^2/24),{z}*EXP(-{z})/(1-EXP(-{z})))"


def none_of(expected: str) -> str:
    """Return (1 - exp(-x)) / x: how likely none comes in an even part of a time in which x are
    expected; by its series for small x.

    Args:
        expected: x, a name or something in parentheses; it may be negative.
    """
    x = expected
    series = f"1-{x}/2*(1-{x}/3*(1-{x}/4*(1-{x}/5)))"
    return f"IF(ABS({x})<0.001,{series},(1-EXP(-{x}))/{x})"


def expm1(x: str) -> str:
    """Return exp(x) - 1, by its series for small x.

    Args:
        x: a name or something in parentheses.
    """
    return f"IF(ABS({x})<0.001,{x}*(1+{x}/2*(1+{x}/3*(1+{x}/4*(1+{x}/5)))),EXP({x})-1)"


def log1p(x: str) -> str:
    """Return ln(1 + x), by its series for small x.

    Args:
        x: a name or something in parentheses.
    """
    return f"IF(ABS({x})<0.001,{x}*(1-{x}*(1/2-{x}*(1/3-{x}*(1/4-{x}/5)))),LN(1+{x}))"


def daly_s(stall: str, mtti: str) -> str:
    """Return Daly's interval, s (Daly 2006, doi 10.1016/j.future.2004.11.016).

    Args:
        stall: what a checkpoint costs, s.
    """
    ratio = f"{stall}/(2*{mtti})"
    return (
        f"IF({stall}>=2*{mtti},{mtti},SQRT(2*{stall}*{mtti})*(1+SQRT({ratio})/3+{ratio}/9)-{stall})"
    )


def years(until: str, since: str = "") -> str:
    """Return how many years of a yearly payment count today: A(a, b) of the rules of a plan.

    Payments run from year a to year b of the term, each year's at its end. Closed form:
    A(a, b) = C(b) - C(a) with C(T) = (1 - (1 + r)^-n) / r + (T - n) / (1 + r)^(n + 1), n whole
    years in T and r the cell ``discount_rate``: an ordinary annuity over the whole years, which
    ``PV`` computes for r = 0 too, and the last part year in proportion.

    Args:
        until: b, a name or an address.
        since: a likewise, empty for the start of the term.
    """
    return _years_from_start(until) + (f"-({_years_from_start(since)})" if since else "")


def _years_from_start(end: str) -> str:
    part = f"({end}-INT({end}))/(1+discount_rate)^(INT({end})+1)"
    return f"-PV(discount_rate,INT({end}),1)+{part}"


def waiting(spares: str, load: str) -> str:
    """Return the formula of the share of time in which more units are out than spares stand by.

    Erlang's loss formula as the end of Poisson's law, cut off at one more than the spares.

    Args:
        spares: a formula of the spares.
        load: a formula of the units out if the job never waited.
    """
    return f"POISSON({spares}+1,{load},0)/POISSON({spares}+1,{load},1)"


def waiting_in_racks(each: str, systems: str) -> str:
    """Return the formula of the share of time in which one of several systems is short of units.

    Args:
        each: a formula of the share of time in which a system is.
        systems: a formula of the systems in use, in parts of one.
    """
    return f"1/(1+(1-{each})/({each}*{systems}))"
