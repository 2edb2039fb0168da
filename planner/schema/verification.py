"""Results of checking a plan file and an edited workbook.

Additive changes only, as with the plan.
"""

from collections.abc import Collection, Iterable
from typing import Literal

from planner.schema.base import InItsUnit, Record, Shown
from planner.schema.plan import LimitReport, Plan

VERIFICATION_SCHEMA_VERSION = 1

CheckName = Literal["file", "figures", "limits", "catalogs", "bound"]
CheckResult = Literal["holds", "fails", "not_checked"]

AUDIT_SCHEMA_VERSION = 1


class Check(Record):
    """One check: ``text`` is its subject and result; ``findings`` are the
    figures that are wrong and the limits that are broken, each with its place in the plan.
    """

    name: CheckName
    result: CheckResult
    text: str
    findings: tuple[str, ...] = ()


class Verification(Shown, Record):
    """A plan file, checked.

    ``result`` is "fails" where any check fails; undone checks are not counted.
    ``solver`` is the one that was asked for the bound again, None where none was; ``value`` and
    ``bound`` are its own, in the objective's unit.
    """

    schema_version: int = VERIFICATION_SCHEMA_VERSION
    plan: str
    problem: str
    result: Literal["holds", "fails"]
    checks: tuple[Check, ...]
    solver: str | None = None
    value: InItsUnit | None = None
    bound: InItsUnit | None = None
    unit: str = ""


class Edit(Record):
    """A cell that holds something else than the solved plan had there.

    ``kind`` is the owner of the input: a line (``key`` is the catalog id), a line of one's own
    (``key`` is its section, number and column), a figure of the model or a limit (``key`` is its
    name).
    """

    sheet: str
    cell: str
    kind: Literal[
        "quantity", "discount", "unit_list", "installed", "spares", "lead_time", "remark",
        "own_line", "figure", "limit",
    ]  # fmt: skip
    key: str
    label: str
    unit: str
    before: InItsUnit | str | None
    after: InItsUnit | str | None


class Breach(Record):
    """A limit that the edited plan does not keep.

    ``value`` is None where a figure is not known; ``over`` is by how much it goes
    too far, never negative.
    """

    name: str
    label: str
    value: InItsUnit | None
    sense: Literal["<=", ">="]
    limit: InItsUnit
    unit: str
    over: InItsUnit | None


def breaches_of(limits: Iterable[LimitReport], names: Collection[str]) -> tuple[Breach, ...]:
    """Return the limits of a plan that are broken, by their names."""
    return tuple(
        Breach(
            name=limit.name,
            label=limit.label,
            value=limit.value,
            sense=limit.sense,
            limit=limit.limit,
            unit=limit.unit,
            over=abs(limit.value - limit.limit),
        )
        for limit in limits
        if limit.name in names
    )


class Shortage(Record):
    """Something the edited cluster needs another number of than the workbook lists."""

    sku: str
    model: str
    listed: int
    needed: int


class Stale(Record):
    """A figure that the file shows otherwise than it is: not recalculated, or approximate there."""

    name: str
    shown: float
    computed: float


class Audit(Shown, Record):
    """An edited workbook, re-computed and compared.

    ``edited`` is the plan as the workbook has it, None where nothing would run (``reason`` says
    why); its companions are those it needs. ``best`` is the best plan under the edited inputs, None
    where there is none. ``shortfall`` is how far the edited plan lies behind it, as a share of the
    best objective; negative where the edited plan breaks limits to be better. ``sheet_capex_usd``
    is the bill with the counts in the workbook. ``remarks`` are choices that the planner would make
    otherwise.
    """

    schema_version: int = AUDIT_SCHEMA_VERSION
    workbook: str
    problem: str
    edits: tuple[Edit, ...]
    solved: Plan
    edited: Plan | None
    best: Plan | None
    reason: str | None = None
    breaches: tuple[Breach, ...] = ()
    remarks: tuple[str, ...] = ()
    shortages: tuple[Shortage, ...] = ()
    stale: tuple[Stale, ...] = ()
    added_sheets: tuple[str, ...] = ()
    sheet_capex_usd: float | None = None
    shortfall: float | None = None
