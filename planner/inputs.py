"""Inputs of a plan in the user's terms, figures derived from them alone, and changes to them.

Below the loader, which fills it from files, and below the case, which works on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from planner.errors import Finding, InputError, Severity
from planner.figures import FIGURES, OBJECTIVES, Need
from planner.figures import Figure as PlanFigure
from planner.limits import of_group
from planner.paths import CATALOG, PRICES, DataPath, field_of, step_into, steps_of, value_at
from planner.schema import CANONICAL, with_field
from planner.schema.catalog import Category, Family, Figure, Item, Precision, Source
from planner.schema.job import Job
from planner.schema.prices import Discount, Price
from planner.schema.problem import Problem, Quantity
from planner.sizing.checkpoint import BYTES_PER_PARAMETER, checkpoint_gb

WEIGHT_BYTES: Mapping[Precision, float] = {"bf16": 2.0, "fp8": 1.0, "nvfp4": 0.5}
"""Bytes per parameter that the weights alone take in the memory of the GPUs of one replica."""

NOTHING_ASKED = Quantity()
"""The demand for an item that a problem does not name."""

_T = TypeVar("_T")


FileLine = tuple[str, int | None]
"""A file and a line in it, or a setting."""


@dataclass
class Document:
    """The data of one file and the mark of each part: its line, or the setting that replaced it.

    ``bare``: the data without settings. Paths in it count from ``folder``.
    """

    file: str
    data: Any
    marks: dict[DataPath, int | str] = field(default_factory=dict)
    folder: Path = Path()
    digest: str = ""
    bare: Any = field(default=None, compare=False)

    def mark(self, path: DataPath) -> int | str | None:
        """The mark of ``path`` or of its nearest known ancestor."""
        parts = (path[:length] for length in range(len(path), -1, -1))
        return next((self.marks[part] for part in parts if part in self.marks), None)

    def place(self, path: DataPath) -> FileLine:
        """The file and line of ``path``, or the setting that put it there."""
        mark = self.mark(path)
        return (mark, None) if isinstance(mark, str) else (self.file, mark)

    def replace_mark(self, path: DataPath, mark: int | str) -> None:
        """Mark a new value, whose parts have no marks of their own."""
        size = len(path)
        self.marks = {p: each for p, each in self.marks.items() if p[:size] != path}
        self.marks[path] = mark


@dataclass(frozen=True)
class Inputs:
    """A validated problem with the catalogs and prices it names.

    By item: ``item_sources`` and ``price_sources`` that its figures cite, title of its price book.
    """

    problem: Problem
    items: tuple[Item, ...]
    families: tuple[Family, ...] = ()
    prices: Mapping[str, Price] = field(default_factory=dict)
    discounts: tuple[Discount, ...] = ()
    item_sources: Mapping[str, Mapping[str, Source]] = field(default_factory=dict)
    price_sources: Mapping[str, Mapping[str, Source]] = field(default_factory=dict)
    price_books: Mapping[str, str] = field(default_factory=dict)
    document: Document | None = None
    catalog_names: tuple[str, ...] = ()
    price_book_names: tuple[str, ...] = ()
    scenario: str | None = None
    overrides: tuple[str, ...] = ()
    sha256: str = ""
    warnings: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Arguments for pickling: generic models of pydantic have no importable name."""
        return _unpickled, (inputs_to_text(self), self.document, self.warnings)

    @cached_property
    def _derived(self) -> dict[object, tuple[object, Any]]:
        return {}

    def once(self, key: object, of: object, work: Callable[[], _T]) -> _T:
        """A value derived from these inputs and ``of``, computed once while ``of`` is the same."""
        known = self._derived.get(key)
        if known is None or known[0] is not of:
            known = self._derived[key] = of, work()
        return cast(_T, known[1])

    @cached_property
    def by_id(self) -> Mapping[str, Item]:
        """All items of the catalogs by id."""
        return {item.id: item for item in self.items}

    def item(self, sku: str) -> Item:
        """An item of the catalogs by its id, which must exist."""
        return self.by_id[sku]

    def where(self, dotted: str) -> str | None:
        """``file:line`` or the ``--set`` of a part of the problem, or None for a default."""
        path, document = steps_of(dotted), self.document
        if document is None:
            return None
        mark = document.mark(path)
        if isinstance(mark, str):
            return mark
        return f"{self.problem_file}:{mark}" if path in document.marks else None

    def finding(
        self,
        code: str,
        path: str,
        message: str,
        fix: str | None = None,
        severity: Severity = "error",
    ) -> Finding:
        """A finding about a part of the problem, at its file and line."""
        document = self.document
        file, line = document.place(steps_of(path)) if document else (None, None)
        return Finding(code, message, file, line, path, fix, severity)

    @cached_property
    def problem_file(self) -> str:
        """The problem file as a plan names it: plans travel, so no absolute path."""
        if self.document is None:
            return ""
        path = Path(self.document.file)
        return path.name if path.is_absolute() else self.document.file


def once_for_each(work: Callable[[Item, Inputs], _T]) -> Callable[[Item, Inputs], _T]:
    """Compute a value of an item and the inputs once for all plans."""

    @wraps(work)
    def found(item: Item, inputs: Inputs) -> _T:
        return inputs.once((work, item.id), item, lambda: work(item, inputs))

    return found


def asked_figures(problem: Problem, what: Need) -> Iterator[PlanFigure]:
    """Yield the figures of the objective and limits that need ``what``, each once."""
    best = OBJECTIVES.get(problem.objective.maximize or problem.objective.minimize or "")
    own = None if best is None else best.figure
    if own is not None and what in own.needs:
        yield own
    for row in of_group("supply", "ratio", "target"):
        figure = FIGURES[row.figure]
        asked = what in figure.needs and value_at(problem, row.path) is not None
        if asked and (own is None or own.name != row.figure):
            yield figure


def needs(problem: Problem, what: Need) -> bool:
    """True if the objective or a limit needs ``what``."""
    return any(True for _ in asked_figures(problem, what))


def demanded(problem: Problem, item_id: str) -> bool:
    """True if the problem demands units of an item beyond the owned ones."""
    rule = problem.items.get(item_id)
    return rule is not None and rule.least > rule.in_place


def weights_gb_per_gpu(job: Job, precision: Precision | None = None) -> float | None:
    """Weights of one replica in each of its GPUs, GB; None if not known.

    Without a precision the smallest counts. Gradients, optimizer and activations come on top.
    """
    if job.parameters is None or job.parallelism is None:
        return None
    asked = job.training.precisions if precision is None else (precision,)
    each = min(WEIGHT_BYTES[name] for name in asked)
    parallel = job.parallelism
    return each * parallel.parameters_per_gpu(job.parameters) / 1e9


def job_size(job: Job) -> tuple[float, float]:
    """The checkpoint size in GB and the bytes per parameter of a job."""
    each = job.bytes_per_parameter
    each = BYTES_PER_PARAMETER[each].value if isinstance(each, str) else each
    if job.checkpoint.size_gb is not None:
        size = job.checkpoint.size_gb
        if job.parameters is not None and "bytes_per_parameter" not in job.model_fields_set:
            each = size * 1e9 / job.parameters
        return size, each
    assert job.parameters is not None
    return checkpoint_gb(job.parameters, each), each


_NAMED: dict[str, Category] = {
    "site.rack.item": "rack",
    "site.rack.pdu.item": "pdu",
    "site.cooling.cdu": "cdu",
    "network.storage.switch": "switch",
    "network.in_band.switch": "switch",
    "network.out_of_band.switch": "switch",
    "network.compute.manager.transceiver": "transceiver",
    "network.compute.switches": "switch",
    "software": "software",
    "services": "service",
}
"""Paths of a problem that name items, one or several, of a category."""


def named_items(inputs: Inputs) -> list[tuple[str, str, Category]]:
    """Dependent items that the problem names: path, item id, required category.

    Extras, which may be of several categories, are not among them.
    """
    found = []
    for path, category in _NAMED.items():
        named = value_at(inputs.problem, path)
        if isinstance(named, str):
            found.append((path, named, category))
        else:
            found += [(f"{path}.{at}", name, category) for at, name in enumerate(named or ())]
    return found


def refusal(inputs: Inputs, item_id: str, message: str, fix: str) -> InputError:
    """The error of an impossible companion, at the place in the problem that asks for it."""
    text = f"'{item_id}' comes with this plan, but {message}"
    paths = dict[str, str]()
    items = {item.id: item for item in inputs.items}
    named = list(reversed(named_items(inputs)))
    for path, name, _ in named:  # cables and transceivers of the links of a switch
        switch = items[name].switch if name in items else None
        groups = switch.ports if switch is not None else ()
        for link in filter(None, (each for group in groups for each in (group.link, *group.forms))):
            ends = [end.item for end in (link.switch_end, link.system_end) if end is not None]
            paths |= dict.fromkeys((link.cable, *ends), path)
    paths |= {name: f"extras.{name}" for name in inputs.problem.extras}
    paths |= {name: path for path, name, _ in named}
    return InputError(inputs.finding("companion", paths.get(item_id, "network"), text, fix))


@dataclass(frozen=True)
class Change:
    """One value of the problem replaced; ``text`` is the argument of ``--set``."""

    path: str
    value: Any
    text: str

    @property
    def setting(self) -> str:
        """The change as ``--set`` takes it."""
        return f"{self.path}={self.text}"


def key_of(changes: Iterable[Change]) -> tuple[tuple[str, str], ...]:
    """A key of changes, for cached answers."""
    return tuple((change.path, repr(change.value)) for change in changes)


def applied(inputs: Inputs, changes: Iterable[Change], *, recorded: bool = False) -> Inputs:
    """Inputs with values of the problem, of catalogs and of prices replaced, unchecked.

    A figure of a catalog keeps its source and confidence.

    Args:
        inputs: validated inputs.
        changes: in this order; ``catalog.ID...`` and ``prices.ID...`` lead out of the problem.
        recorded: whether plans record the changes in their provenance.

    Raises:
        KeyError: a path that does not exist.
    """
    changes = tuple(changes)
    problem, tables = inputs.problem, dict[str, dict[str, Any]]()
    for change in changes:
        (root, name), steps = root_of(change.path), change.path.split(".")
        if not root:
            problem = _replaced(problem, steps, change.value, change.path)
            continue
        kind = "prices" if root == PRICES else "items" if name in inputs.by_id else "families"
        if kind not in tables:
            parts = getattr(inputs, kind)
            tables[kind] = dict(parts) if root == PRICES else {each.id: each for each in parts}
        new = _replaced(tables[kind][name], steps[2:], change.value, change.path)
        tables[kind][name] = _not_built(new, inputs.prices[name]) if root == PRICES else new
    settings = tuple(change.setting for change in changes) if recorded else ()
    new_parts: dict[str, Any] = {
        k: t if k == "prices" else tuple(t.values()) for k, t in tables.items()
    }
    overrides = (*inputs.overrides, *settings)
    return replace(inputs, problem=problem, overrides=overrides, **new_parts)


def changed(inputs: Inputs, path: str, value: Any, text: str | None = None) -> Inputs:
    """Inputs with one value of the problem replaced.

    Args:
        inputs: validated inputs.
        path: as for ``--set``: ``budget.capex``, ``jobs.0.restore.max_time``, ``items.ID.max``.
        value: in the canonical unit of the field; None removes an optional value.
        text: the value as ``--set`` takes it, where plans record the change.

    Raises:
        KeyError: a path that does not exist.
    """
    return applied(inputs, [Change(path, value, text or "")], recorded=text is not None)


@lru_cache(maxsize=4096)
def root_of(path: str) -> tuple[str, str]:
    """``catalog`` or ``prices`` and the id of a path out of the problem; empty for its own."""
    steps = path.split(".", 2)
    inside = len(steps) < 3 or steps[0] not in (CATALOG, PRICES)
    return ("", "") if inside else (steps[0], steps[1])


_SUMS = ("list_usd", "low_usd", "high_usd", "per_year_usd", "per_year_low_usd", "per_year_high_usd")
"""Sums of a price that has parts."""


def _not_built(price: Price, before: Price) -> Price:
    """A changed price; one with another sum has no parts any more."""
    if not price.parts or all(getattr(price, name) == getattr(before, name) for name in _SUMS):
        return price
    note = "amounts set for this run, not built of parts"
    return with_field(with_field(price, "parts", ()), "note", note)


def _replaced(here: Any, steps: list[str], value: Any, path: str) -> Any:
    """A model, mapping or list with the value at the steps replaced; a figure keeps its source."""
    if not steps:
        return with_field(here, "value", value) if isinstance(here, Figure) else value
    step, rest = steps[0], steps[1:]
    below = step_into(here, step, path)
    if below is None and rest:
        if not path.startswith("items."):
            raise KeyError(path)
        below = Quantity()
    new = _replaced(below, rest, value, path)
    if isinstance(here, BaseModel):
        return with_field(here, field_of(type(here), step) or step, new)
    if isinstance(here, Mapping):
        return {**here, step: new}
    return (*here[: int(step)], new, *here[int(step) + 1 :])


def _unpickled(text: bytes, document: Document | None, warnings: tuple[str, ...]) -> Inputs:
    return replace(inputs_from_text(text), document=document, warnings=warnings)


_NOT_PORTABLE = {"document", "warnings"}


@cache
def _adapter() -> TypeAdapter[Inputs]:
    return TypeAdapter(Inputs)  # a tenth of a short command


def inputs_to_text(inputs: Inputs) -> bytes:
    """The inputs as JSON in canonical units, without values left to their default."""
    return _adapter().dump_json(inputs, exclude=_NOT_PORTABLE, exclude_unset=True)


def inputs_from_text(text: str | bytes) -> Inputs:
    """The inputs in JSON of `inputs_to_text`, without file and lines.

    Raises:
        InputError: it is no such JSON.
    """
    try:
        return _adapter().validate_json(text, context=CANONICAL)
    except ValidationError as error:
        message = f"the inputs cannot be read ({error.error_count()} faults)"
        raise InputError(Finding("portable", message)) from None
