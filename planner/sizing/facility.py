"""Power and heat between the IT load and the meter, and energy cost over the years."""

from __future__ import annotations

import math
from functools import lru_cache

from planner.figures import BTU_PER_H_PER_KW

HOURS_PER_YEAR = 8760.0


def heat_btu_per_h(it_power_kw: float) -> float:
    """The heat an IT load gives off, in BTU/h."""
    return it_power_kw * BTU_PER_H_PER_KW


@lru_cache(maxsize=1024)
def discounted_years(start_years: float, end_years: float, discount_rate: float) -> float:
    """Present value of one unit of money per year, paid from ``start_years`` to ``end_years``.

    Each year's share is paid at the end of that year of the term, so without a discount rate this
    is ``end - start``. An annuity in arrears, with part years in proportion.

    Nothing is paid where the end is not later; ``discount_rate``: interest per year, a share.
    """
    worth = 0.0
    for year in range(1, math.ceil(end_years) + 1):
        paid = min(end_years, float(year)) - max(start_years, year - 1.0)
        if paid > 0:
            worth += paid / (1.0 + discount_rate) ** year
    return worth
