"""Everything a plan is made from, in the user's terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from planner.loader.yaml12 import Document
from planner.schema.catalog import Family, Item, Source
from planner.schema.prices import Discount, Price
from planner.schema.problem import Problem


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
        return cls(problem, tuple(items), tuple(families), dict(prices or {}), tuple(discounts))

    def where(self, dotted: str) -> str | None:
        """Return ``file:line`` or the ``--set`` of a part of the problem, or None for a default."""
        if self.document is None:
            return None
        path = tuple(int(step) if step.isdigit() else step for step in dotted.split("."))
        origin = self.document.origin(path)
        if origin is not None or path not in self.document.lines:
            return origin
        return f"{self.problem_file}:{self.document.lines[path]}"

    @property
    def problem_file(self) -> str:
        """The problem file as a plan names it: plans travel, so no absolute path."""
        if self.document is None:
            return ""
        path = Path(self.document.file)
        return path.name if path.is_absolute() else self.document.file
