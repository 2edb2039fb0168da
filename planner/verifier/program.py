"""What a plan says of its integer program, held against its own figures."""

from __future__ import annotations

from collections.abc import Iterator

from planner.schema.plan import Plan, ProgramReport

AGREED = 4e-6
"""Program and search may differ by so much, as a share: each proves to 2e-6 at most."""
FIGURES = 1e-9


def program_faults(plan: Plan) -> tuple[str, ...]:
    """Return where the integer program's figures do not follow from one another or the plan's."""
    found = plan.objective.program
    if found is None:
        return ()
    if not isinstance(found, ProgramReport):
        return ("objective.program: not the record of a program",)
    return tuple(_faults(plan, found))


def _faults(plan: Plan, found: ProgramReport) -> Iterator[str]:
    goal, capex_usd = plan.objective, None if plan.totals is None else plan.totals.capex_usd
    said = {"solver": plan.provenance.solver, "unit": goal.unit}
    for name, text in said.items():
        if getattr(found, name) != text:
            yield f"objective.program.{name}: {getattr(found, name)}, not {text}"
    pairs = (
        ("value", found.value, goal.best, AGREED),
        ("capex_usd", found.capex_usd, capex_usd, AGREED),
        ("gap", found.gap, _gap(found.value, found.bound), FIGURES),
        ("capex_gap", found.capex_gap, _gap(found.capex_usd, found.capex_bound_usd), FIGURES),
    )
    for name, mine, expected, room in pairs:
        if mine is not None and expected is not None:
            if abs(mine - expected) > room * max(abs(expected), 1.0):
                yield f"objective.program.{name}: {mine!r}, not {expected!r}"
        elif (mine is None) != (expected is None) and name != "value" and name != "capex_usd":
            yield f"objective.program.{name}: {mine!r}, not {expected!r}"
    proven = [each for each in (found.gap, found.capex_gap) if each is not None]
    if found.status == "optimal" and any(gap > AGREED for gap in proven):
        yield f"objective.program.status: optimal, with gaps of {proven}"


def _gap(value: float | None, bound: float | None) -> float | None:
    """Return the distance from value to bound, as a share of the value."""
    if value is None or bound is None:
        return None
    return abs(bound - value) / max(abs(value), FIGURES)
