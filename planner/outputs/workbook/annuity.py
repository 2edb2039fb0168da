"""How many years of a yearly payment count today: A(a, b) of the rules of a plan, live.

Payments run from year a to year b of the term, each year's at its end. Closed form:
A(a, b) = C(b) - C(a) with C(T) = (1 - (1 + r)^-n) / r + (T - n) / (1 + r)^(n + 1), n whole years
in T and r the discount rate: an ordinary annuity over the whole years, which ``PV`` computes for
r = 0 too, and the last part year in proportion.
"""

from __future__ import annotations

import math


def years_formula(until: str, since: str = "") -> str:
    """Return the formula of A(a, b) over the cell ``discount_rate``.

    Args:
        until: b, a name or an address.
        since: a likewise, empty for the start of the term.
    """
    return _from_start(until) + (f"-({_from_start(since)})" if since else "")


def years(until: float, since: float, rate: float) -> float:
    """Return A(since, until) at a discount rate."""
    return _worth(until, rate) - _worth(since, rate)


def _from_start(end: str) -> str:
    part = f"({end}-INT({end}))/(1+discount_rate)^(INT({end})+1)"
    return f"-PV(discount_rate,INT({end}),1)+{part}"


def _worth(end: float, rate: float) -> float:
    whole = math.floor(end)
    annuity = float(whole) if rate == 0 else -math.expm1(-whole * math.log1p(rate)) / rate
    return annuity + (end - whole) / (1 + rate) ** (whole + 1)
