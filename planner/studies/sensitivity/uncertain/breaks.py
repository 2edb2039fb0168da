"""How often the plan that was bought breaks each limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.schema.plan import Plan
from planner.schema.sensitivity import BreakRate
from planner.studies.sensitivity.uncertain.bought import Tried
from planner.studies.sensitivity.uncertain.reach import Passed

_CALLED = {
    "products": "products that can still be planned",
    "orders": "counts that can be ordered",
    "fabric": "fabrics that can be built",
    "running": "progress of the job at all",
    "gpus_min": "least GPUs in use",
    "overlap": "drain overlap",
    "blocking": "time blocked by checkpoints",
    "drain_fits": "stall and drain within the interval",
    "endurance": "write endurance",
    "ingest": "ingest",
}
"""Limits that a plan need not have, or only in another mode."""


def break_rates(plan: Plan, bought: Sequence[Tried]) -> tuple[BreakRate, ...]:
    """Return every limit of a plan and any other that was broken, with how often that was.

    Args:
        plan: the plan that was bought.
        bought: what became of it in each scenario.
    """
    called = {limit.name: limit.label for limit in plan.limits}
    others = sorted({name for each in bought for name in each.broken} - called.keys())
    called |= {name: _CALLED.get(name, name.replace("_", " ")) for name in others}
    each = [tried.broken for tried in bought]
    return tuple(_rate(name, label, each) for name, label in called.items())


def _rate(name: str, label: str, broken: Sequence[Mapping[str, Passed]]) -> BreakRate:
    times = [each[name] for each in broken if name in each]
    return BreakRate(
        limit=name,
        label=label,
        breaks=len(times),
        share=len(times) / len(broken) if broken else 0.0,
        worst=max((by for by in times if by is not None), default=None),
    )
