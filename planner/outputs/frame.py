"""A plan as pandas frames, for notebooks and for tables that leave planner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.schema.plan import Plan

if TYPE_CHECKING:
    import pandas as pd


def bill(plan: Plan) -> pd.DataFrame:
    """Return a row per line of the bill, columns as in the plan's JSON; not known is NaN."""
    return _frame([line.model_dump() for line in plan.lines])


def limits(plan: Plan) -> pd.DataFrame:
    """Return a row per limit: value, sense, limit, unit, slack, whether it binds."""
    return _frame([limit.model_dump() for limit in plan.limits])


def assumptions(plan: Plan) -> pd.DataFrame:
    """Return a row per assumption: value, unit, source, confidence."""
    return _frame([assumption.model_dump() for assumption in plan.assumptions])


def fabrics(plan: Plan) -> pd.DataFrame:
    """Return a row per fabric: switches by tier, links, ports in use and capacity."""
    return _frame([fabric.model_dump() for fabric in plan.fabrics])


def racks(plan: Plan) -> pd.DataFrame:
    """Return a row per device in a rack; ``first`` and ``count`` say in which racks it stands."""
    rows: list[dict[str, object]] = []
    for group in plan.racks:
        place = {"first": group.first, "count": group.count, "rack_class": group.rack_class}
        rows += [place | device.model_dump() for device in group.devices]
    return _frame(rows)


def _frame(rows: list[dict[str, object]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame.from_records(rows)
