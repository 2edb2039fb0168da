"""Validated inputs as one text, so that a file can carry what its plan was made from."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from planner.errors import Finding, InputError
from planner.loader.inputs import Inputs
from planner.schema.base import CANONICAL
from planner.schema.catalog import Family, Item, Source
from planner.schema.prices import Discount, Price
from planner.schema.problem import Problem


@dataclass(frozen=True)
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


_FIELDS = tuple(_Portable.__dataclass_fields__)
_ADAPTER = TypeAdapter(_Portable)


def to_text(inputs: Inputs) -> str:
    """Return the inputs as JSON; what is left to its default stays so."""
    values = {name: getattr(inputs, name) for name in _FIELDS}
    for name in ("prices", "price_books"):
        values[name] = dict(values[name])
    for name in ("price_sources", "item_sources"):
        values[name] = {key: dict(sources) for key, sources in values[name].items()}
    whole = _Portable(**values)
    return _ADAPTER.dump_json(whole, exclude_unset=True).decode()


def from_text(text: str | bytes) -> Inputs:
    """Return the inputs in such JSON; they remember no file and no lines.

    Raises:
        InputError: it is not what `to_text` writes.
    """
    try:
        whole = _ADAPTER.validate_json(text, context=CANONICAL)
    except ValidationError as error:
        count = error.error_count()
        raise InputError(
            Finding("portable", f"the inputs cannot be read ({count} faults)")
        ) from None
    return Inputs(**{name: getattr(whole, name) for name in _FIELDS})
