"""Plans side by side: read from plan files, problem files and workbooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.api import Options, load, solve_with
from planner.currency import Currency
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.outputs.words import (
    write_in,
)
from planner.schema.comparison import (
    Comparison,
    Side,
    SideKind,
)
from planner.schema.plan import Plan
from planner.schema.verification import Audit, Edit
from planner.studies.compare.differences import (
    figure_rows,
    input_rows,
    limit_rows,
    line_rows,
)
from planner.studies.verification import read_plan
from planner.workbook.audit import audit

Models = Mapping[Path, Inputs | Plan]
NO_MODELS: Models = {}

MOST_SIDES = 9
_KINDS: dict[str, SideKind] = {
    ".json": "plan", ".yaml": "problem", ".yml": "problem", ".xlsx": "workbook",
}  # fmt: skip
_TAKES = "give plans (.plan.json), problem files (.yaml) or workbooks (.xlsx)"


@dataclass(frozen=True)
class Read:
    """A plan and where it comes from; without lines its ``reason`` says why there is none.

    ``edits`` and ``broken`` are of a workbook: what was edited in it, and the limits that the
    edited plan does not keep.
    """

    source: str
    kind: SideKind
    plan: Plan
    reason: str | None
    edits: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def there(self) -> bool:
        """Whether there is a plan."""
        return bool(self.plan.jobs)


def read_sides(
    paths: Sequence[Path],
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    options: Options | None = None,
    models: Models = NO_MODELS,
) -> tuple[Read, ...]:
    """Return the plans of these files, in their order; problem files are solved.

    Args:
        paths: two files or more.
        settings: ``path=value`` changes, laid over each problem file.
        scenario: a named scenario, laid over each problem file.
        options: how to solve problem files.
        models: what is in memory under the name of a path, instead of a file there.

    Raises:
        InputError: too few files, one that cannot be read, or options that no file takes.
    """
    if not 2 <= len(paths) <= MOST_SIDES:
        few = "there must be two files or more to compare"
        message = few if len(paths) < 2 else f"at most {MOST_SIDES} files fit side by side"
        raise InputError(Finding("files", message, fix=_TAKES))
    kinds = _kinds(paths, models)
    if "problem" not in kinds and (settings or scenario is not None):
        message = "--set and --scenario change problem files, and none is compared"
        raise InputError(Finding("option", message, fix="add the problem file"))
    return _read(paths, kinds, settings, scenario, options or Options(), models)


def read_side(
    path: Path,
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    options: Options | None = None,
    models: Models = NO_MODELS,
) -> Read:
    """Return the plan of one file; a problem file is solved.

    Args:
        settings: ``path=value`` changes, laid over a problem file.
        scenario: a named scenario, laid over a problem file.
        options: how to solve a problem file.
        models: what is in memory under the name of a path, instead of a file there.

    Raises:
        InputError: it cannot be read, or is no problem file and options change it.
    """
    kinds = _kinds([path], models)
    if kinds != ["problem"] and (settings or scenario is not None):
        message = "--set and --scenario change problem files, and this is none"
        raise InputError(Finding("option", message, str(path), fix="give the problem file"))
    return _read([path], kinds, settings, scenario, options or Options(), models)[0]


def _read(
    paths: Sequence[Path],
    kinds: Sequence[SideKind],
    settings: tuple[str, ...],
    scenario: str | None,
    options: Options,
    models: Models,
) -> tuple[Read, ...]:
    readers: dict[SideKind, Callable[[Path], Read]] = {
        "plan": lambda path: _plan(path, models.get(path)),
        "problem": lambda path: _problem(path, settings, scenario, options, models.get(path)),
        "workbook": lambda path: _workbook(path, options),
    }
    return tuple(readers[kind](path) for path, kind in zip(paths, kinds, strict=True))


def _kinds(paths: Sequence[Path], models: Models) -> list[SideKind]:
    """Return what each file is by its name; whatever is wrong is told before anything is solved."""
    unknown = [path for path in paths if path.suffix.lower() not in _KINDS]
    if unknown:
        message = f"a file named '{unknown[0].suffix}' holds no plan"
        if not unknown[0].suffix:
            message = "its name does not say what it holds"
        raise InputError(Finding("file-kind", message, str(unknown[0]), fix=_TAKES))
    missing = [path for path in paths if path not in models and not _is_there(path)]
    if missing:
        raise InputError(Finding("not-found", "there is no such file", str(missing[0])))
    return [_KINDS[path.suffix.lower()] for path in paths]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _problem(
    path: Path,
    settings: tuple[str, ...],
    scenario: str | None,
    options: Options,
    model: Inputs | Plan | None,
) -> Read:
    if not isinstance(model, Inputs):
        model = load(path, settings=settings, scenario=scenario)
    plan = solve_with(model, options)
    return Read(str(path), "problem", plan, plan.message)


def _plan(path: Path, model: Inputs | Plan | None) -> Read:
    plan = read_plan(path, model if isinstance(model, Plan) else None)
    return Read(str(path), "plan", plan, plan.message)


def _workbook(path: Path, options: Options) -> Read:
    """Return the plan that a workbook describes as it now stands, edits included."""
    found = audit(path, options, solve_again=False)
    edits = tuple(_edit(edit, found.solved.shown_in) for edit in found.edits)
    name = str(path)
    if found.edited is None:
        return Read(name, "workbook", _without_plan(found), found.reason, edits)
    broken = tuple(breach.label for breach in found.breaches)
    # Unedited it is the solved plan with its proof, of which an edited plan has none.
    plan = found.edited if edits else found.solved
    return Read(name, "workbook", plan, None, edits, broken)


def _without_plan(found: Audit) -> Plan:
    """Return the solved plan of a workbook without all that its edits have made impossible."""
    parts = {"lines": (), "totals": None, "jobs": (), "limits": (), "assumptions": ()}
    why = {"status": "infeasible", "message": found.reason}
    goal = found.solved.objective.model_copy(update={"value": None, "bound": None, "gap": None})
    return found.solved.model_copy(update={**parts, **why, "objective": goal})


def _edit(edit: Edit, money: Currency) -> str:
    """Return an edit in words."""
    before, after = (write_in(money, each, edit.unit) for each in (edit.before, edit.after))
    return f"{edit.label}: {after} instead of {before}"


_KEYS = "ABCDEFGHI"[:MOST_SIDES]


def compare(sides: Sequence[Read]) -> Comparison:
    """Return the plans side by side, each told from the first, in the currency of the first.

    Args:
        sides: what `read_sides` returned, in the order to show.
    """
    plans = [side.plan for side in sides]
    return Comparison(
        currency=plans[0].currency,
        sides=tuple(_side(key, side) for key, side in zip(_KEYS, sides, strict=False)),
        inputs=input_rows(plans),
        lines=line_rows(plans),
        figures=figure_rows(plans),
        limits=limit_rows(plans),
    )


def _side(key: str, side: Read) -> Side:
    return Side(
        key=key,
        source=side.source,
        kind=side.kind,
        problem=side.plan.problem,
        status=side.plan.status,
        message=side.reason,
        edits=side.edits,
        broken=side.broken,
        given_away=side.plan.objective.given_away,
        verdict=tuple(each.text for each in side.plan.verdict),
    )
