"""Everything a plan is made from, in the user's terms; what follows from it alone; changes to it.

Below the loader, which fills it from files, and below the case, which works on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from planner.errors import Finding, InputError
from planner.figures import FIGURES, OBJECTIVES, Need
from planner.figures import Figure as PlanFigure
from planner.limits import Limit, of_group
from planner.paths import CATALOG, PRICES, DataPath, field_of, step_into, steps_of
from planner.paths import value_at as value_in
from planner.schema.base import CANONICAL, with_field
from planner.schema.catalog import Category, Family, Figure, Item, Precision, Source
from planner.schema.prices import NO_SUPPORT, Discount, Price
from planner.schema.problem import Job, Problem, Quantity
from planner.sizing.checkpoint import BYTES_PER_PARAMETER, checkpoint_gb

WEIGHT_BYTES: Mapping[Precision, float] = {"bf16": 2.0, "fp8": 1.0, "nvfp4": 0.5}
"""Bytes per parameter that the weights alone take in the memory of the GPUs of one replica."""


NOTHING_ASKED = Quantity()
"""What a problem asks of the count of an item that it does not name."""


@dataclass
class Document:
    """The data of one file and where each part of it stands.

    ``origins`` names what replaced a part: the ``--set`` it came from. Paths in it count from
    ``folder``; ``digest`` is that of the file.
    """

    file: str
    data: Any
    lines: dict[DataPath, int] = field(default_factory=dict)
    origins: dict[DataPath, str] = field(default_factory=dict)
    folder: Path = Path()
    digest: str = ""

    def line(self, path: DataPath) -> int | None:
        """Return the line of ``path`` or of its nearest known ancestor."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None

    def origin(self, path: DataPath) -> str | None:
        """Return what replaced ``path`` or a part above it, or None."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        return None

    def place(self, path: DataPath) -> tuple[str, int | None]:
        """Return the file and line of ``path``, or the setting that put it there."""
        origin = self.origin(path)
        return (self.file, self.line(path)) if origin is None else (origin, None)


_T = TypeVar("_T")


@dataclass(frozen=True)
class Inputs:
    """A validated problem with the catalogs and prices it names.

    ``item_sources`` and ``price_sources`` give, per item, the sources its figures cite;
    ``price_books`` the title of the book that holds an item's price.
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
        """Return inputs made in memory, for library use and tests."""
        parts = tuple(items), tuple(families), dict(prices or {}), tuple(discounts)
        return with_support(cls(problem, *parts))

    def __getstate__(self) -> dict[str, object]:
        """Return what goes to another process, which works out the rest itself."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def _worked_out(self) -> dict[object, tuple[object, Any]]:
        return {}

    def once(self, what: object, of: object, work: Callable[[], _T]) -> _T:
        """Return what follows from these inputs and one thing more, worked out once for all plans.

        Args:
            what: what is asked for.
            of: what else it follows from: the same object as before, or it is worked out anew.
            work: works it out.
        """
        kept = self._worked_out.get(what)
        if kept is None or kept[0] is not of:
            kept = self._worked_out[what] = of, work()
        return cast(_T, kept[1])

    @cached_property
    def by_id(self) -> Mapping[str, Item]:
        """All items of the catalogs by id."""
        return {item.id: item for item in self.items}

    def item(self, sku: str) -> Item:
        """Return an item of the catalogs by its id, which must be there."""
        return self.by_id[sku]

    def where(self, dotted: str) -> str | None:
        """Return ``file:line`` or the ``--set`` of a part of the problem, or None for a default."""
        if self.document is None:
            return None
        return self.once(("where", dotted), None, lambda: self._place(dotted))

    def _place(self, dotted: str) -> str | None:
        assert self.document is not None
        path = steps_of(dotted)
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
    """Have what follows of an item from the inputs alone worked out once for all plans."""

    @wraps(work)
    def found(item: Item, inputs: Inputs) -> _T:
        return inputs.once((work, item.id), item, lambda: work(item, inputs))

    return found


def asked_figures(problem: Problem, what: Need) -> Iterator[PlanFigure]:
    """Yield what the objective or a limit compares that needs something to be known, each once."""
    best = OBJECTIVES.get(problem.objective.maximize or problem.objective.minimize or "")
    if best is not None and what in best.figure.needs:
        yield best.figure
    for row in _that_need(what):
        if (best is None or best.figure.name != row.figure) and value_in(
            problem, row.path
        ) is not None:
            yield FIGURES[row.figure]


@cache
def _that_need(what: Need) -> tuple[Limit, ...]:
    """Return the limits that compare a figure which needs something to be known."""
    rows = of_group("supply", "ratio", "target")
    return tuple(row for row in rows if what in FIGURES[row.figure].needs)


def needs(problem: Problem, what: Need) -> bool:
    """Say whether the objective or a limit compares a figure that needs something to be known."""
    return any(True for _ in asked_figures(problem, what))


def demanded(problem: Problem, item_id: str) -> bool:
    """Say whether the problem demands units of an item beyond those that are owned."""
    rule = problem.items.get(item_id)
    return rule is not None and rule.least > rule.in_place


def weights_gb_per_gpu(job: Job, precision: Precision | None = None) -> float | None:
    """Return what the weights of one replica take in each of its GPUs, GB; None if not known.

    Of several precisions where none is named that of the smallest. Gradients, optimizer and
    activations come on top: a GPU with less memory holds no such replica, one with more may.
    """
    if job.parameters is None or job.parallelism is None:
        return None
    asked = job.training.precisions if precision is None else (precision,)
    each = min(WEIGHT_BYTES[name] for name in asked)
    parallel = job.parallelism
    return each * parallel.parameters_per_gpu(job.parameters) / 1e9


def job_size(job: Job) -> tuple[float, float]:
    """Return the checkpoint size in GB and the bytes per parameter of a job."""
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
    """Dependent items that the problem names: path, item id, the category that it must have.

    Extras, which may be of several categories, are not among them.
    """
    problem, network = inputs.problem, inputs.problem.network
    rack, compute = problem.site.rack, network.compute
    lists: tuple[tuple[str, tuple[str, ...], Category], ...] = (
        ("network.compute.switches", compute.switches if compute else (), "switch"),
        ("software", problem.software, "software"),
        ("services", tuple(problem.services), "service"),
    )
    single: list[tuple[str, str | None, Category]] = [
        (
            "network.compute.manager.transceiver",
            compute.manager.transceiver if compute else None,
            "transceiver",
        ),
        *(
            (f"network.{key}.switch", fabric.switch, "switch")
            for key in ("storage", "in_band", "out_of_band")
            if (fabric := getattr(network, key)) is not None
        ),
        ("site.rack.item", rack.item if rack else None, "rack"),
        ("site.rack.pdu.item", rack.pdu.item if rack and rack.pdu else None, "pdu"),
        ("site.cooling.cdu", problem.site.cooling.cdu, "cdu"),
    ]
    found = [(path, name, category) for path, name, category in single if name is not None]
    for path, names, category in lists:
        found += [(f"{path}.{index}", name, category) for index, name in enumerate(names)]
    return found


def refusal(inputs: Inputs, item_id: str, message: str, fix: str) -> InputError:
    """Return the error of a companion that cannot be, where the problem asks for it."""
    text = f"'{item_id}' comes with this plan, but {message}"
    document = inputs.document
    file, line = document.place(_named_at(inputs, item_id)) if document else (None, None)
    return InputError(Finding("companion", text, file, line, fix=fix))


def _named_at(inputs: Inputs, item_id: str) -> tuple[str | int, ...]:
    """Where the problem names a companion, or the switch that it comes with."""
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
    """Return what tells changes apart, for answers that are kept."""
    return tuple((change.path, repr(change.value)) for change in changes)


def support_level(problem: Problem, item_id: str, price: Price) -> str | None:
    """Return the level of support that is bought with an item, None where nobody names one."""
    rule, term = problem.items.get(item_id), problem.term
    if rule is not None and rule.support_level is not None:
        return rule.support_level
    asked = term.support_level if term is not None else None
    if asked is not None and (asked in price.levels or asked == NO_SUPPORT):
        return asked
    return price.support_level


def with_support(inputs: Inputs) -> Inputs:
    """Return the inputs with every price at the level of support that the problem asks for."""
    prices = {}
    for name, price in inputs.prices.items():
        level = support_level(inputs.problem, name, price)
        prices[name] = price if level is None else price.at_level(level)
    return replace(inputs, prices=prices)


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
    problem, support = inputs.problem, False
    parts: dict[str, dict[str, list[Change]]] = {CATALOG: {}, PRICES: {}}
    for change in changes:
        root, name = root_of(change.path)
        if root:
            parts[root].setdefault(name, []).append(change)
        else:
            problem = _replaced(problem, change.path.split("."), change.value, change.path)
        support = support or change.path.endswith("support_level")
    settings = tuple(change.setting for change in changes) if recorded else ()
    new = replace(inputs, problem=problem, overrides=(*inputs.overrides, *settings))
    if parts[CATALOG]:
        new = _with_figures(new, parts[CATALOG])
    if parts[PRICES]:
        known = inputs.prices
        prices = {name: _with_price(known[name], made) for name, made in parts[PRICES].items()}
        new = replace(new, prices={**known, **prices})
    return with_support(new) if support else new


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


@checked_dataclass(frozen=True, config=ConfigDict(defer_build=True))
class _Portable:
    """The parts of the inputs that a plan rests on, in canonical units."""

    problem: Problem
    items: tuple[Item, ...]
    families: tuple[Family, ...]
    prices: dict[str, Price]
    discounts: tuple[Discount, ...]
    price_sources: dict[str, dict[str, Source]]
    item_sources: dict[str, dict[str, Source]]
    price_books: dict[str, str]
    catalog_names: tuple[str, ...]
    price_book_names: tuple[str, ...]
    scenario: str | None
    overrides: tuple[str, ...]
    sha256: str


_CARRIED = tuple(_Portable.__dataclass_fields__)


@cache
def _adapter() -> TypeAdapter[_Portable]:
    """Return what reads and writes them: to build it takes a tenth of a short command."""
    return TypeAdapter(_Portable)


def inputs_to_text(inputs: Inputs) -> str:
    """Return the inputs as JSON; what is left to its default stays so."""
    values = {name: getattr(inputs, name) for name in _CARRIED}
    for name in ("prices", "price_books"):
        values[name] = dict(values[name])
    for name in ("price_sources", "item_sources"):
        values[name] = {key: dict(sources) for key, sources in values[name].items()}
    whole = _adapter().validate_python(
        values, context=CANONICAL
    )  # a changed price may leave its range
    return _adapter().dump_json(whole, exclude_unset=True).decode()


def inputs_from_text(text: str | bytes) -> Inputs:
    """Return the inputs in such JSON; they remember no file and no lines.

    Raises:
        InputError: it is not what `inputs_to_text` writes.
    """
    try:
        whole = _adapter().validate_json(text, context=CANONICAL)
    except ValidationError as error:
        count = error.error_count()
        raise InputError(
            Finding("portable", f"the inputs cannot be read ({count} faults)")
        ) from None
    return Inputs(**{name: getattr(whole, name) for name in _CARRIED})
