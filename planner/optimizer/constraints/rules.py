"""A vendor's bandwidth rule: nameplate bandwidth for every so many GPUs bought.

    sum_k read_k x_k >= r U,  sum_k write_k x_k >= w U,  U >= sum_k G_k x_k / unit

U is continuous for per-GPU rules and whole for per-unit rules. One GPU more is r and w more.
"""

from __future__ import annotations

from planner.optimizer.context import Build
from planner.optimizer.model import Linear, total


def add(build: Build) -> None:
    """Add the rows, where a rule replaces the demand law."""
    rule = build.case.rule
    if rule is None:
        return
    units = _units(build, rule.per_gpus)
    read, write = total(build.nameplate_read.values()), total(build.nameplate_write.values())
    row = read - rule.read_gb_per_s * units
    build.model.row("rule_read", row, ">=", 0.0)
    row = write - rule.write_gb_per_s * units
    build.model.row("rule_write", row, ">=", 0.0)


def _units(build: Build, per_gpus: int) -> Linear:
    systems = build.case.systems
    bought = total(float(s.gpus) * build.units[s.id] for s in systems)
    if per_gpus == 1:
        return bought
    most = sum(s.gpus * max(build.caps[s.id], s.low) for s in systems) // per_gpus + 1
    units = build.model.var("rule_units", 0.0, float(most), True)
    build.model.row("rule_units", float(per_gpus) * units - bought, ">=", 0.0)
    return units
