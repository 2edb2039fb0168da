"""Everything a plan is made from, in the user's terms; what follows from it alone; changes to it.

Below the loader, which fills it from files, and below the case, which works on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from planner.errors import Finding, InputError
from planner.figures import FIGURES, OBJECTIVES, Need
from planner.figures import Figure as PlanFigure
from planner.limits import of_group
from planner.paths import CATALOG, PRICES, DataPath, field_of, step_into, steps_of
from planner.paths import value_at as value_in
from planner.schema.base import CANONICAL, with_field
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


@dataclass
class Document:
    """The data of one file and the line of each part.

    ``origins``: the ``--set`` that replaced a part. Paths in it count from ``folder``.
    """

    file: str
    data: Any
    lines: dict[DataPath, int] = field(default_factory=dict)
    origins: dict[DataPath, str] = field(default_factory=dict)
    folder: Path = Path()
    digest: str = ""

    def line(self, path: DataPath) -> int | None:
        """The line of ``path`` or of its nearest known ancestor."""
        return _nearest(self.lines, path)

    def origin(self, path: DataPath) -> str | None:
        """The setting that replaced ``path`` or a part above it, or None."""
        return _nearest(self.origins, path)

    def place(self, path: DataPath) -> tuple[str, int | None]:
        """The file and line of ``path``, or the setting that put it there."""
        origin = self.origin(path)
        return (self.file, self.line(path)) if origin is None else (origin, None)


def _nearest(known: Mapping[DataPath, _T], path: DataPath) -> _T | None:
    lengths = range(len(path), -1, -1)
    return next((known[path[:length]] for length in lengths if path[:length] in known), None)


@dataclass(frozen=True)
class Inputs:
    """A validated problem with the catalogs and prices it names.

    By item: ``item_sources`` and ``price_sources`` that its figures cite, title of its price book.
    """

    problem: Problem
    items: tuple[Item, ...]
    families: tuple[Family, ...]
    prices: Mapping[str, Price]
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

    @classmethod
    def from_parts(
        cls,
        *,
        problem: Problem,
        items: Iterable[Item],
        families: Iterable[Family] = (),
        prices: Mapping[str, Price] | None = None,
        discounts: Iterable[Discount] = (),
    ) -> Inputs:
        """Inputs made in memory, for library use and tests."""
        parts = tuple(items), tuple(families), dict(prices or {}), tuple(discounts)
        return cls(problem, *parts)

    def __getstate__(self) -> dict[str, object]:
        """The fields alone: another process derives the rest itself."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

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
        return self.once(("where", dotted), None, lambda: self._place(steps_of(dotted)))

    def _place(self, path: DataPath) -> str | None:
        if self.document is None:
            return None
        origin = self.document.origin(path)
        if origin is not None or path not in self.document.lines:
            return origin
        return f"{self.problem_file}:{self.document.lines[path]}"

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
        asked = what in figure.needs and value_in(problem, row.path) is not None
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


def named_items(inputs: Inputs) -> list[tuple[str, str, Category]]:
    """Dependent items that the problem names: path, item id, required category.

    Extras, which may be of several categories, are not among them.
    """
    problem, network = inputs.problem, inputs.problem.network
    rack, compute = problem.site.rack, network.compute
    found: list[tuple[str, str | None, Category]] = [
        ("site.rack.item", rack.item if rack else None, "rack"),
        ("site.rack.pdu.item", rack.pdu.item if rack and rack.pdu else None, "pdu"),
        ("site.cooling.cdu", problem.site.cooling.cdu, "cdu"),
    ]
    for key in ("storage", "in_band", "out_of_band"):
        fabric = getattr(network, key)
        found.append((f"network.{key}.switch", fabric and fabric.switch, "switch"))
    if compute is not None:
        path = "network.compute.manager.transceiver"
        found.append((path, compute.manager.transceiver, "transceiver"))
        names = enumerate(compute.switches)
        found += [(f"network.compute.switches.{at}", name, "switch") for at, name in names]
    found += [(f"software.{at}", name, "software") for at, name in enumerate(problem.software)]
    found += [(f"services.{at}", name, "service") for at, name in enumerate(problem.services)]
    return [(path, name, category) for path, name, category in found if name is not None]


def refusal(inputs: Inputs, item_id: str, message: str, fix: str) -> InputError:
    """The error of an impossible companion, at the place in the problem that asks for it."""
    text = f"'{item_id}' comes with this plan, but {message}"
    document = inputs.document
    file, line = document.place(_named_at(inputs, item_id)) if document else (None, None)
    return InputError(Finding("companion", text, file, line, fix=fix))


def _named_at(inputs: Inputs, item_id: str) -> tuple[str | int, ...]:
    """The path that names a companion, or the switch that it comes with."""
    named = named_items(inputs)
    paths = {name: f"extras.{name}" for name in inputs.problem.extras}
    for path, name, category in named:
        if category == "switch":
            paths |= dict.fromkeys(_link_items(inputs.item(name)) - paths.keys(), path)
    paths |= {name: path for path, name, _ in reversed(named)}
    return steps_of(paths.get(item_id, "network"))


def _link_items(item: Item) -> set[str]:
    """Cables and transceivers of a switch."""
    groups = item.switch.ports if item.switch else ()
    links = [link for group in groups for link in (group.link, *group.forms) if link]
    ends = [end for link in links for end in (link.switch_end, link.system_end) if end]
    return {link.cable for link in links} | {end.item for end in ends}


@dataclass(frozen=True)
class Change:
    """One value of the problem replaced; ``text`` is what ``--set`` would be given."""

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
    problem = inputs.problem
    parts: dict[str, dict[str, list[Change]]] = {CATALOG: {}, PRICES: {}}
    for change in changes:
        root, name = root_of(change.path)
        if root:
            parts[root].setdefault(name, []).append(change)
        else:
            problem = _replaced(problem, change.path.split("."), change.value, change.path)
    settings = tuple(change.setting for change in changes) if recorded else ()
    new = replace(inputs, problem=problem, overrides=(*inputs.overrides, *settings))
    if parts[CATALOG]:
        new = _with_figures(new, parts[CATALOG])
    if parts[PRICES]:
        known = inputs.prices
        prices = {name: _with_price(known[name], made) for name, made in parts[PRICES].items()}
        new = replace(new, prices={**known, **prices})
    return new


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


def value_at(inputs: Inputs, path: str) -> Any:
    """Value at a dotted path of the problem, None where none is given.

    Raises:
        KeyError: a path that does not exist.
    """
    return value_in(inputs.problem, path)


@lru_cache(maxsize=4096)
def root_of(path: str) -> tuple[str, str]:
    """``catalog`` or ``prices`` and the id of a path out of the problem; empty for its own."""
    steps = path.split(".", 2)
    inside = len(steps) < 3 or steps[0] not in (CATALOG, PRICES)
    return ("", "") if inside else (steps[0], steps[1])


def _with_figures(inputs: Inputs, changes: Mapping[str, list[Change]]) -> Inputs:
    """Inputs with items and families changed; of one id, the item."""
    items = {item.id: item for item in inputs.items}
    families = {family.id: family for family in inputs.families}
    for name, made in changes.items():
        for change in made:
            steps = change.path.split(".")[2:]
            if name in items:
                items[name] = _replaced(items[name], steps, change.value, change.path)
            else:
                families[name] = _replaced(families[name], steps, change.value, change.path)
    if changes.keys() <= items.keys():  # the identity of the families shows that they are the same
        return replace(inputs, items=tuple(items.values()))
    return replace(inputs, items=tuple(items.values()), families=tuple(families.values()))


def _with_price(price: Price, changes: Iterable[Change]) -> Price:
    """A price with values replaced; one with a stated sum has no parts any more."""
    new, sums = price, []
    for change in changes:
        steps = change.path.split(".")[2:]
        new = _replaced(new, steps, change.value, change.path)
        sums += [steps[0].replace("_", " ")] if len(steps) == 1 else []
    stated = [name for name in sums if name in _SUMS]
    if not price.parts or not stated or vars(new) == vars(price):
        return new
    note = f"{' and '.join(stated)} set for this run, not built of parts"
    return with_field(with_field(new, "parts", ()), "note", note)


_SUMS = ("list", "low", "high", "per year", "per year low", "per year high")
"""Sums of a price that has parts."""


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
        return with_field(here, field_of(type(here), step, path), new)
    if isinstance(here, Mapping):
        return {**here, step: new}
    return (*here[: int(step)], new, *here[int(step) + 1 :])


_NOT_PORTABLE = {"document", "warnings"}


@cache
def _adapter() -> TypeAdapter[Inputs]:
    return TypeAdapter(Inputs)  # a tenth of a short command


def inputs_to_text(inputs: Inputs) -> str:
    """The inputs as JSON in canonical units, without values left to their default."""
    return _adapter().dump_json(inputs, exclude=_NOT_PORTABLE, exclude_unset=True).decode()


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
