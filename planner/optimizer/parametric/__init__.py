"""One problem under many limits: what is proven for some of them is used for all.

Everything but what may be used up (power, racks, money) stays as it is. Then a plan keeps its value
and only may or may not fit, and what is proven of a part of the plans is a function of the limits:
multipliers of a relaxation bound it by a linear function (weak duality), a search bounds it for all
limits that are no looser.
"""

from planner.optimizer.parametric.search import Found, Search

__all__ = ["Found", "Search"]
