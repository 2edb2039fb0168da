"""The place a path means: in the problem, in a catalog or in prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from planner.loader.change import Change
from planner.loader.inputs import Inputs
from planner.loader.vary import hints
from planner.loader.vary.slot import Slot, slot_of
from planner.schema.base import CANONICAL
from planner.schema.catalog import Figure
from planner.schema.problem import Problem

CATALOG, PRICES = "catalog", "prices"
ALL = "*"
_FIXED = {"id", "extends", "source", "support_source", "components"}
"""What other parts of the input refer to, and what nothing is computed from."""
_READ_ONCE = {"catalogs": "catalogs", "prices": "price books"}


class NoPlaceError(ValueError):
    """A path that leads nowhere; ``fix`` says what would be right."""

    def __init__(self, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.fix = fix


@dataclass(frozen=True)
class Place:
    """A place that can be varied, what may stand there, and what does.

    A place inside something that is not given (``jobs.0.failures.per_gpu_day`` where a preset is
    named) is filled by giving that something whole: ``parent`` is its path, ``made`` its model and
    the field of the value.
    """

    path: str
    slot: Slot
    standing: Any
    parent: str = ""
    made: tuple[type[BaseModel], str] | None = None

    @property
    def changed(self) -> str:
        """The path that a change of this place replaces."""
        return self.path if self.made is None else self.parent

    def change(self, value: Any, text: str) -> Change:
        """Return the change that puts a validated value here."""
        if self.made is None:
            return Change(self.path, value, text)
        model, name = self.made
        key = hints.key_of(model, name)
        whole = model.model_validate({key: value}, context=CANONICAL)
        return Change(self.parent, whole, f"{{{key}: {text}}}")


@dataclass(frozen=True)
class _Node:
    """A point on the way: what stands there and how it got its name."""

    steps: tuple[str, ...]
    value: Any
    slot: Slot | None = None
    made: tuple[str, type[BaseModel], str] | None = None

    @property
    def path(self) -> str:
        return ".".join(self.steps)


def places(inputs: Inputs, path: str) -> tuple[Place, ...]:
    """Return the places that a path means; several where a step of it is ``*``.

    A ``*`` stands for every entry that states the value.

    Raises:
        NoPlaceError: there is none.
    """
    steps = [step.strip() for step in path.strip().split(".")]
    if not all(steps):
        raise NoPlaceError(f"'{path[:80]}' is not a path", "write for example site.facility_power")
    several = ALL in steps
    nodes, rest = _roots(inputs, steps)
    for step in rest:
        nodes = [below for node in nodes for below in _below(inputs, node, step, several)]
    nodes = [node for node in nodes if not several or node.value is not None]
    if not nodes:
        raise NoPlaceError(f"nothing states '{path[:80]}'")
    return tuple(_ended(node) for node in nodes)


def _roots(inputs: Inputs, steps: list[str]) -> tuple[list[_Node], list[str]]:
    first = steps[0]
    if first == CATALOG:
        known: dict[str, Any] = {family.id: family for family in inputs.families}
        return _entries(
            first, known | {item.id: item for item in inputs.items}, steps, "item", "catalogs"
        )
    if first == PRICES and len(steps) > 1 and not steps[1].isdigit():
        return _entries(first, dict(inputs.prices), steps, "price for", "price books")
    if first in _READ_ONCE:
        fix = "name them in a scenario of the problem file, and give --named"
        if first == "catalogs":
            fix += "; a figure of an item is catalog.ITEM.GROUP.FIGURE"
        raise NoPlaceError(f"which {_READ_ONCE[first]} are read cannot be varied", fix)
    return [_Node((), inputs.problem)], steps


def _entries(
    root: str, known: dict[str, Any], steps: list[str], what: str, where: str
) -> tuple[list[_Node], list[str]]:
    name = steps[1] if len(steps) > 1 else ""
    if name != ALL and name not in known:
        message = f"no {what} '{name[:60]}' in the {where} in use"
        raise NoPlaceError(message, hints.known(name, list(known)))
    if len(steps) < 3:
        figure = {CATALOG: "consumes.it_power", PRICES: "list"}[root]
        raise NoPlaceError(f"'{root}.{name}' is no single value", f"such as {root}.{name}.{figure}")
    having = [each for each, value in known.items() if hints.field_of(type(value), steps[2])]
    names = (having or list(known)[:1]) if name == ALL else [name]
    return [_Node((root, each), known[each]) for each in names], steps[2:]


def _below(inputs: Inputs, node: _Node, step: str, several: bool) -> Iterator[_Node]:
    value = node.value
    if isinstance(value, BaseModel):
        yield _in_model(node, value, step)
    elif isinstance(value, Mapping):
        yield from _in_mapping(inputs, node, value, step)
    elif isinstance(value, tuple):
        yield from _in_list(node, value, step)
    elif not several:
        yield _in_nothing(node, step)


def _in_model(node: _Node, model: BaseModel, step: str) -> _Node:
    name = hints.field_of(type(model), step)
    if name is None:
        keys = [hints.key_of(type(model), field) for field in type(model).model_fields]
        if isinstance(model, Problem):
            keys = [key for key in keys if key not in _READ_ONCE] + [CATALOG, PRICES]
        where = f"'{node.path}'" if node.steps else "the problem"
        fix = hints.key_hint(model, node.path, step, keys)
        raise NoPlaceError(f"{where} has no '{step[:60]}'", fix)
    if step in _FIXED:
        raise NoPlaceError(f"'{step}' of '{node.path}' cannot be varied")
    key = hints.key_of(type(model), name)
    return _Node((*node.steps, key), getattr(model, name), slot_of(type(model), name))


def _in_mapping(
    inputs: Inputs, node: _Node, entries: Mapping[str, Any], step: str
) -> Iterator[_Node]:
    inside = node.slot.inside() if node.slot is not None else None
    assert inside is not None
    known = list(entries) if step == ALL else _names(inputs, node, inside[0], entries)
    if step != ALL and step not in known:
        raise NoPlaceError(f"'{node.path}' has no '{step[:60]}'", hints.known(step, known))
    for name in known if step == ALL else [step]:
        yield _Node((*node.steps, name), entries.get(name), inside[1])


def _names(inputs: Inputs, node: _Node, keys: Any, entries: Mapping[str, Any]) -> list[str]:
    """Return the keys that a mapping may have."""
    if get_origin(keys) is Literal:
        return list(get_args(keys))
    if node.path in {"items", "extras"}:
        return [item.id for item in inputs.items]
    return list(entries)


def _in_list(node: _Node, entries: tuple[Any, ...], step: str) -> Iterator[_Node]:
    inside = node.slot.inside() if node.slot is not None else None
    assert inside is not None
    names = [getattr(entry, "name", None) for entry in entries]
    if step == ALL:
        numbers = list(range(len(entries)))
    elif step.isascii() and step.isdigit() and len(step) < 9 and int(step) < len(entries):
        numbers = [int(step)]
    elif step in names:
        numbers = [names.index(step)]
    else:
        known = [f"{index} ({name})" if name else f"{index}" for index, name in enumerate(names)]
        fix = "its entries: " + (", ".join(known[:9]) or "none")
        raise NoPlaceError(f"'{node.path}': the list has no entry '{step[:60]}'", fix)
    for number in numbers:
        yield _Node((*node.steps, str(number)), entries[number], inside[1])


def _in_nothing(node: _Node, step: str) -> _Node:
    """Return a place inside what is not given, where giving that value alone will do."""
    models = node.slot.models if node.slot is not None else []
    for model, name in ((model, hints.field_of(model, step)) for model in models):
        if name is None:
            continue
        needed = [key for key, field in model.model_fields.items() if field.is_required()]
        if node.made is not None or needed not in ([], [name]):
            what = "not given" if node.value is None else f"'{node.value}'"
            message = f"'{node.path}' is {what}, so it has no '{step}'"
            raise NoPlaceError(message, hints.giving(model))
        # A count of an item that is not named yet is laid over its other counts.
        made = None if node.steps[0] == "items" else (node.path, model, name)
        return _Node((*node.steps, hints.key_of(model, name)), None, slot_of(model, name), made)
    raise NoPlaceError(f"'{node.path}' is a single value and has no '{step[:60]}'")


def _ended(node: _Node) -> Place:
    """Return the place at the end of a path; a figure is its value."""
    value, slot = node.value, node.slot
    assert slot is not None
    if isinstance(value, Figure):
        return Place(node.path, slot_of(type(value), "value"), value.value)
    if value is None and any(issubclass(model, Figure) for model in slot.models):
        raise NoPlaceError(f"no catalog states '{node.path}'", hints.ADD_FIGURE)
    if get_origin(slot.annotation) is Literal and len(get_args(slot.annotation)) == 1:
        fix = f"vary '{'.'.join(node.steps[:-1])}' whole, such as {{policy: fixed, every: 10 min}}"
        raise NoPlaceError(f"'{node.path}' can only be '{value}' here", fix)
    if node.made is None:
        return Place(node.path, slot, value)
    parent, model, name = node.made
    return Place(node.path, slot, value, parent, (model, name))
