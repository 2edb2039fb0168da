"""What a plan file was found to be worth when it was checked. Additive changes only."""

from __future__ import annotations

from typing import Literal

from planner.schema.record import Record

VERIFICATION_SCHEMA_VERSION = 1

CheckName = Literal["file", "figures", "limits", "catalogs", "bound"]
CheckResult = Literal["holds", "fails", "not_checked"]


class Check(Record):
    """One thing that was checked: ``text`` says what and how it came out; ``findings`` are the
    figures that are wrong and the limits that are broken, each with its place in the plan.
    """

    name: CheckName
    result: CheckResult
    text: str
    findings: tuple[str, ...] = ()


class Verification(Record):
    """A plan file, checked.

    ``result`` is "fails" where any check fails; what could not be checked is not counted.
    ``solver`` is the one that was asked for the bound again, None where none was; ``value`` and
    ``bound`` are its own, in the objective's unit.
    """

    schema_version: int = VERIFICATION_SCHEMA_VERSION
    plan: str
    problem: str
    result: Literal["holds", "fails"]
    checks: tuple[Check, ...]
    solver: str | None = None
    value: float | None = None
    bound: float | None = None
    unit: str = ""
