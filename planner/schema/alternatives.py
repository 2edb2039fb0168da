"""Plans nearly as good as the best that differ from it. Additive changes only, as with the plan."""

from __future__ import annotations

from typing import Literal

from planner.schema.plan import Plan, Status
from planner.schema.record import Record

ALTERNATIVES_SCHEMA_VERSION = 1

DirectionName = Literal[
    "storage_vendor", "gpu_type", "least_capex", "least_tco", "least_power",
    "fewest_storage", "most_storage", "fewest_systems", "most_systems",
]  # fmt: skip


class Way(Record):
    """A way in which a plan is extreme or different, and how to get such a plan.

    ``detail`` tells what it is about, such as the vendor. ``setting`` is what ``--set`` would take;
    None where a problem file cannot ask for it, as for the fewest storage units.
    """

    name: DirectionName | Literal["best"]
    label: str
    detail: str = ""
    setting: tuple[str, ...] | None = ()


class Alternative(Record):
    """A complete plan of the problem, verified, that lies within the tolerance of the best.

    ``plan`` carries the value of the problem's own objective with the bound of the best there is;
    ``shortfall`` is how far behind that bound it is at most, as a share of the bound. ``distance``
    is how different it is from the plans before it in the list: 1 for another storage vendor, 1 for
    another GPU type, and the relative difference in storage units and in GPU systems.
    """

    ways: tuple[Way, ...]
    plan: Plan
    value: float
    shortfall: float
    distance: float


class Direction(Record):
    """What was looked for in one direction, and how that ended.

    ``ended`` is "within" where a plan was found, "beyond" where the best one lies outside the
    tolerance, "no_plan" where there is none and "not_found" where the search did not settle it.
    ``shortfall`` is that of the plan found, at most; ``at_least`` is proven of every plan there.
    ``proven`` says that the plan found is the best or the extreme there, not only one near it.
    """

    name: DirectionName
    label: str
    detail: str = ""
    ended: Literal["within", "beyond", "no_plan", "not_found"]
    proven: bool = True
    shortfall: float | None = None
    at_least: float | None = None


class Alternatives(Record):
    """Plans within a share of the best, from the most to the least different.

    ``bound`` is what no plan's objective passes; ``worst`` the worst value within the tolerance.
    ``found`` counts all different plans, those beyond ``--most`` included. ``message`` says why
    there are none.
    """

    schema_version: int = ALTERNATIVES_SCHEMA_VERSION
    problem: str
    problem_file: str
    scenario: str | None
    overrides: tuple[str, ...]
    status: Status
    objective: str
    sense: Literal["maximize", "minimize"]
    unit: str
    within: float
    bound: float | None = None
    worst: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    directions: tuple[Direction, ...] = ()
    found: int = 0
    message: str | None = None
