"""Random problems: every seed is one case, small enough to enumerate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

from planner.inputs import Inputs
from planner.schema.catalog import Catalog, Family, Item
from planner.schema.prices import Discount, Price, PriceBook
from planner.schema.problem import Problem
from tests.world.random_hardware import Raw, random_hardware
from tests.world.random_problems import random_problem

SOURCES = {"made_up": {"title": "drawn at random for the tests"}}


@dataclass(frozen=True)
class Case:
    """A problem with its catalog and prices, and the documents they were read from."""

    problem: Problem
    items: tuple[Item, ...]
    families: tuple[Family, ...]
    prices: Mapping[str, Price]
    discounts: tuple[Discount, ...]
    documents: Mapping[str, Raw]


def inputs_of(case: Case) -> Inputs:
    """Return a case as the planner takes it, without any file."""
    return Inputs(
        problem=case.problem,
        items=tuple(case.items),
        families=tuple(case.families),
        prices=dict(case.prices),
        discounts=tuple(case.discounts),
    )


def random_case(seed: int, *, wide: bool = False) -> Case:
    """Return the case of a seed, always the same one; ``wide`` ones are harder to prove."""
    random = Random(seed)
    hardware = random_hardware(random)
    request = random_problem(random, hardware, wide=wide)
    catalog: Raw = {"catalog": "Random items", "sources": SOURCES}
    catalog |= {"families": hardware.families, "items": hardware.items}
    book: Raw = {"price_book": "Random prices", "sources": SOURCES, "prices": hardware.prices}
    book["discounts"] = hardware.discounts
    return read(
        {"problem": {"name": f"Random case {seed}"} | request, "catalog": catalog}
        | {"prices": book}
    )


def read(documents: Mapping[str, Raw]) -> Case:
    """Return the case of three documents: problem, catalog and prices."""
    catalog = Catalog.model_validate(_frozen(documents["catalog"]))
    book = PriceBook.model_validate(_frozen(documents["prices"]))
    problem = Problem.model_validate(_frozen(documents["problem"]))
    return Case(problem, catalog.items, catalog.families, book.prices, book.discounts, documents)


def write_case(case: Case, folder: Path) -> Path:
    """Write problem.yaml, catalog.yaml and prices.yaml and return the problem's path.

    The files hold the strings the case was read from, so nothing is lost on the way.
    """
    problem = {**case.documents["problem"], "catalogs": ["catalog.yaml"], "prices": "prices.yaml"}
    for name, document in {**case.documents, "problem": problem}.items():
        plain = yaml.safe_dump(_plain(document), sort_keys=False, allow_unicode=True)
        (folder / f"{name}.yaml").write_text(plain, encoding="utf-8")
    return folder / "problem.yaml"


def _frozen(value: Any) -> Any:
    """Return a copy with tuples for lists, as the strict models want them."""
    if isinstance(value, dict):
        return {key: _frozen(entry) for key, entry in value.items()}
    return tuple(_frozen(entry) for entry in value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """Return a copy that shares no parts, so that YAML needs no anchors, and has no empty keys."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items() if entry is not None}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value
