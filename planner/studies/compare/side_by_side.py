"""Plans side by side: read from whatever holds one, and what their differences come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.api import Options, load, solve_with
from planner.case.suitability import why_not
from planner.currency import shown_in
from planner.errors import Finding, InputError
from planner.inputs import Inputs, demanded
from planner.outputs.words import (
    counted,
    listed,
    money,
    percent,
    plain,
    relative,
    valued,
    write_figure,
)
from planner.schema.catalog import Family, Item
from planner.schema.comparison import (
    Comparison,
    Explanation,
    FigureRow,
    LineRow,
    Measure,
    Side,
    SideKind,
)
from planner.schema.plan import Plan
from planner.schema.verification import Audit, Edit
from planner.studies.compare.differences import (
    are_same,
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
    edits = tuple(_edit(edit) for edit in found.edits)
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


def _edit(edit: Edit) -> str:
    """Return an edit in words."""
    before, after = write_figure(edit.before, edit.unit), write_figure(edit.after, edit.unit)
    return f"{edit.label}: {after} instead of {before}"


NOTHING = 1e-6
"""Smallest difference worth a word where nothing is known of a proof."""

_SAID = {
    "useful_pflops": ("does", "do", "{} {} useful work"),
    "useful_gpus": ("does", "do", "{} {} useful work"),
    "cost": ("costs", "cost", "{} {}"),
    "tco": ("costs", "cost", "{} {} over the term"),
    "power": ("draws", "draw", "{} {} IT power"),
    "usd_per_useful_gpu_hour": ("pays", "pay", "{} {} for a useful GPU-hour"),
    "usd_per_million_tokens": ("pays", "pay", "{} {} for a million tokens"),
}


def worse_by(difference: float, measure: Measure) -> float:
    """Return the share by which a plan is worse than another; negative where it is better.

    Args:
        difference: how far its value lies above the other's, as a share of it.
        measure: the measure of both.
    """
    return difference if measure.sense == "minimize" else -difference


def write_loss(worse: float, measure: Measure, amount: str = "", *, many: bool = False) -> str:
    """Return a difference as a verb and what follows it: ``does 5.0 % less useful work``.

    Args:
        worse: what `worse_by` returned.
        amount: the difference in words, where it is not this one alone.
        many: whether the subject is a plural.
    """
    other = ("has", "have", f"{{}} {{}} {measure.label}")
    one, several, rest = _SAID.get(measure.name, other)
    more = (worse > 0) == (measure.sense == "minimize")
    amount_and_side = rest.format(amount or relative(worse), "more" if more else "less")
    return f"{several if many else one} {amount_and_side}"


def proven_alike(worse: float, *gaps: float | None) -> bool:
    """Return whether a difference is no larger than what is proven of the plans."""
    return abs(worse) <= max(NOTHING, *(gap or 0.0 for gap in gaps))


_MOST_REASONS = 2


def families_in_use(inputs: Inputs) -> tuple[Family, ...]:
    """Return the families that have products in the catalogs, by id."""
    named = {item.family for item in inputs.items if item.category == "storage"}
    families = (family for family in inputs.families if family.id in named)
    return tuple(sorted(families, key=lambda family: family.id))


def by_vendor(inputs: Inputs) -> dict[str, tuple[str, ...]]:
    """Return the ids of the families of each vendor, by the vendor's name."""
    families = families_in_use(inputs)
    vendors = sorted({family.vendor for family in families}, key=str.casefold)
    return {
        vendor: tuple(family.id for family in families if family.vendor == vendor)
        for vendor in vendors
    }


def variants(inputs: Inputs) -> tuple[tuple[Family, Family], ...]:
    """Return pairs of families of one vendor: plain, and the same hardware with faster clients.

    What a client can move is a matter of software. A family is a variant of a plain one where each
    of its products gives and takes what some product of the plain family does.
    """
    families = families_in_use(inputs)
    return tuple(
        (plain, variant)
        for variant in families
        for plain in families
        if variant.client_factor is not None
        and plain.client_factor is None
        and plain.vendor == variant.vendor
        and _hardware(inputs, variant) <= _hardware(inputs, plain)
    )


def _hardware(inputs: Inputs, family: Family) -> frozenset[str]:
    """Return what each product of a family gives and takes, as texts that can be compared."""
    return frozenset(_figures(item) for item in inputs.items if item.family == family.id)


def _figures(item: Item) -> str:
    parts = {"provides", "consumes", "sizes", "components"}
    return item.model_dump_json(include=parts, exclude_none=True)


def considered_families(inputs: Inputs, families: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the families that the problem considers."""
    considered = inputs.problem.consider.storage_families
    return tuple(name for name in families if considered is None or name in considered)


def why_none(inputs: Inputs, families: tuple[str, ...]) -> str | None:
    """Return why no plan can have storage of these families alone, or None where one may."""
    kept = considered_families(inputs, families)
    if not kept:
        return "the problem does not consider it (consider.storage_families)"
    storage = [item for item in inputs.items if item.category == "storage"]
    for item in storage:
        if demanded(inputs.problem, item.id) and item.family not in kept:
            return f"the problem asks for {item.model}, which is other storage"
    reasons = [why_not(item, inputs) for item in storage if item.family in kept]
    if None not in reasons:
        distinct = sorted({reason for reason in reasons if reason is not None})
        return f"none of it can be planned: {'; '.join(distinct[:_MOST_REASONS])}"
    return None


def work(first: Plan, plan: Plan) -> str:
    """Say what becomes of useful work and of the days to train.

    Args:
        first: the plan to tell it from.
    """
    before, after = first.jobs[0], plan.jobs[0]
    values = (before.useful_pflops, after.useful_pflops)
    unit = "PFLOP/s"
    if values[0] is None or values[1] is None:
        values, unit = (before.useful_gpus, after.useful_gpus), "useful GPUs"
    was, now = values
    days = _days(before.days_to_train, after.days_to_train)
    share = now / was - 1.0 if was and now is not None else 0.0
    amounts = f"{plain(now or 0.0)} instead of {plain(was or 0.0)} {unit}"
    if are_same(was, now):
        return f"Useful work is the same, {plain(now or 0.0)} {unit}{days}."
    if first.objective.name == plan.objective.name and proven_alike(share, *_proofs(first, plan)):
        return f"Useful work is the same within what is proven ({amounts}){days}."
    goodput = f"goodput is {percent(after.goodput, 2)}"
    if goodput != f"goodput is {percent(before.goodput, 2)}":
        goodput += f" instead of {percent(before.goodput, 2)}"
    word = "more" if share > 0 else "less"
    return f"It does {relative(share)} {word} useful work ({amounts}){days}; {goodput}."


def _proofs(first: Plan, plan: Plan) -> tuple[float | None, ...]:
    """Return the gaps, where they are of useful work."""
    goals = (first.objective, plan.objective)
    return tuple(goal.gap if goal.name in ("goodput", "useful_gpus") else None for goal in goals)


def _days(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return ""
    if abs(before - after) < 0.05:
        return f", and training takes {plain(after)} days as before"
    return f", and training takes {plain(after)} days instead of {plain(before)}"


def money_and_power(first: Plan, plan: Plan) -> str:
    """Say what becomes of capital cost, cost over the term, power, and money per useful GPU-hour.

    Args:
        first: the plan to tell it from.
    """
    parts = [*_money(first, plan), *_power(first, plan), *_per_hour(first, plan)]
    return f"It {listed(parts)}." if parts else "It costs and draws the same."


def _money(first: Plan, plan: Plan) -> Iterator[str]:
    assert first.totals is not None
    assert plan.totals is not None
    parts = []
    for was, now, when in (
        (first.totals.capex_usd, plan.totals.capex_usd, "at once"),
        (first.totals.tco_usd, plan.totals.tco_usd, "over the term"),
    ):
        if was is not None and now is not None and abs(now - was) >= 0.005:
            word = "more" if now > was else "less"
            parts.append(f"{money(abs(now - was))} {word} {when} ({money(now)})")
    if parts:
        yield f"costs {' and '.join(parts)}"


def _power(first: Plan, plan: Plan) -> Iterator[str]:
    assert first.totals is not None
    assert plan.totals is not None
    was, now = first.totals.facility_power_kw, plan.totals.facility_power_kw
    if was is not None and now is not None and abs(now - was) >= 0.05:
        word = "more" if now > was else "less"
        yield f"draws {plain(abs(now - was))} kW {word} at the meter ({plain(now)} kW)"


def _per_hour(first: Plan, plan: Plan) -> Iterator[str]:
    assert first.totals is not None
    assert plan.totals is not None
    was, now = first.totals.usd_per_useful_gpu_hour, plan.totals.usd_per_useful_gpu_hour
    if was and now is not None and not are_same(was, now):
        word = "more" if now > was else "less"
        yield f"pays {relative(now / was - 1.0)} {word} for a useful GPU-hour ({money(now)})"


_MOST_INPUTS, _MOST_LINES, _MOST_EDITS = 4, 4, 6
_WANTED = ("Compute", "Storage")
"""Sections of what is decided; all other lines follow from them."""

_TOLD = ("Where it comes from",)
"""Inputs that only say where others come from."""


def sentences(
    first: Read, side: Read, place: int, inputs: Sequence[FigureRow], lines: Sequence[LineRow]
) -> Iterator[str]:
    """Yield what a plan changes against the first, cause before effect.

    Args:
        first: the first plan.
        side: the other.
        place: which of the sides it is.
        inputs: every input of the comparison.
    """
    yield _changed(first, side, place, inputs)
    if not side.there:
        yield f"It has no plan: {side.reason or 'none was found'}."
        return
    if not first.there:
        yield "It has a plan where the first has none, so there is nothing to tell it from."
        yield from _limits(side)
        return
    yield _bought(place, lines)
    yield work(first.plan, side.plan)
    yield money_and_power(first.plan, side.plan)
    yield from _limits(side, first)


def _changed(first: Read, side: Read, place: int, inputs: Sequence[FigureRow]) -> str:
    """Say which inputs differ; where none that a plan states does, what was set for the run."""
    rows = [row for row in inputs if _differs(row, place, both=first.there and side.there)]
    listed_rows = [row for row in rows if row.group not in _TOLD] or rows
    parts = [_input(row, place) for row in listed_rows[:_MOST_INPUTS]]
    if len(listed_rows) > _MOST_INPUTS:
        parts.append(f"and {counted(len(listed_rows) - _MOST_INPUTS, 'more input')}")
    inputs_told = f"Inputs that differ: {'; '.join(parts)}."
    if not side.edits:
        return inputs_told if parts else "All inputs that a plan states are the same."
    edited = f"Edited in the workbook: {'; '.join(_edits(side))}."
    same_origin = first.plan.provenance.input_sha256 == side.plan.provenance.input_sha256
    # Against its own solved plan, the inputs that differ are the edits.
    return f"{edited} {inputs_told}" if parts and not same_origin else edited


def _edits(side: Read) -> list[str]:
    """Return the first edits of a workbook, and how many more there are."""
    more = len(side.edits) - _MOST_EDITS
    rest = [f"and {counted(more, 'more edit')}"] if more > 0 else []
    return [*side.edits[:_MOST_EDITS], *rest]


def _differs(row: FigureRow, place: int, *, both: bool) -> bool:
    """Return whether an input differs; where a plan is missing, much of its input is not known."""
    before, after = row.series.values[0], row.series.values[place]
    if not both and (before is None or after is None):
        return False
    return not are_same(before, after)


def _input(row: FigureRow, place: int) -> str:
    before, after = row.series.values[0], row.series.values[place]
    if before is None:
        return f"{row.label}: {valued(after or 0.0, row.unit)} is new"
    if after is None:
        return f"{row.label}: {valued(before, row.unit)} is gone"
    return f"{row.label}: {valued(after, row.unit)} instead of {valued(before, row.unit)}"


def _bought(place: int, lines: Sequence[LineRow]) -> str:
    """Say what else is bought, the GPU systems and the storage by name."""
    other = [
        row for row in lines if not are_same(row.quantity.values[0], row.quantity.values[place])
    ]
    wanted = [row for row in other if row.section in _WANTED]
    wanted.sort(key=lambda row: -abs(row.capex_usd.changes[place] or 0.0))
    more = len(other) - len(wanted[:_MOST_LINES])
    rest = f"{counted(more, 'other line')} of the bill {'differs' if more == 1 else 'differ'}"
    if not other:
        return "It buys the same."
    if not wanted:
        return f"It buys the same GPU systems and storage; {rest}."
    parts = listed([_line(row, place) for row in wanted[:_MOST_LINES]])
    return f"It buys {parts}{f'; {rest}' if more else ''}."


def _line(row: LineRow, place: int) -> str:
    before, after = row.quantity.values[0], row.quantity.values[place]
    if not before:
        return f"{write_figure(after, '')} {row.product} instead of none"
    if not after:
        return f"no {row.product} instead of {write_figure(before, '')}"
    return f"{write_figure(after, '')} {row.product} instead of {write_figure(before, '')}"


def _limits(side: Read, first: Read | None = None) -> Iterator[str]:
    """Say which limits stop a better plan, here and in the first, and which are broken."""
    here = _binding(side.plan)
    there = None if first is None else _binding(first.plan)
    stops = "Limits with no room left" if side.edits else "What stops a better plan"
    if there is None or there == here:
        yield f"{stops}{'' if there is None else ' in both'}: {here}."
    else:
        yield f"{stops}: {here}. In the first: {there}."
    if side.broken:
        yield f"As edited it breaks {'; '.join(side.broken)}."


def _binding(plan: Plan) -> str:
    """Return what binds in a plan; counts that are given stop nothing."""
    names = [limit.label for limit in plan.limits if limit.binding and not limit.exact]
    return "; ".join(names) or "no limit"


_KEYS = "ABCDEFGHI"[:MOST_SIDES]


def compare(sides: Sequence[Read]) -> Comparison:
    """Return the plans side by side, each told from the first, in the currency of the first.

    Args:
        sides: what `read_sides` returned, in the order to show.
    """
    with shown_in(sides[0].plan.shown_in):
        return _compare(sides)


def _compare(sides: Sequence[Read]) -> Comparison:
    plans = [side.plan for side in sides]
    inputs, lines = input_rows(plans), line_rows(plans)
    return Comparison(
        currency=plans[0].currency,
        sides=tuple(_side(key, side) for key, side in zip(_KEYS, sides, strict=False)),
        inputs=inputs,
        lines=lines,
        figures=figure_rows(plans),
        limits=limit_rows(plans),
        explanations=tuple(
            Explanation(
                key=_KEYS[place],
                sentences=tuple(sentences(sides[0], side, place, inputs, lines)),
            )
            for place, side in enumerate(sides)
            if place
        ),
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
        given_away=side.plan.objective.given_away,
        verdict=tuple(each.text for each in side.plan.verdict),
    )
