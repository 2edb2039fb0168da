"""JSON Schemas of the files that users write or read."""

from __future__ import annotations

import json

from pydantic import BaseModel

from planner.commands.views import VIEWS
from planner.schema.base import Model
from planner.schema.bill import Bill, Quote, QuoteMap
from planner.schema.catalog import Catalog
from planner.schema.plan import Plan
from planner.schema.prices import PriceBook
from planner.schema.problem import Problem
from planner.studies.request import one_of

SCHEMAS: dict[str, type[BaseModel]] = {
    "problem": Problem,
    "catalog": Catalog,
    "prices": PriceBook,
    "plan": Plan,
    "bill": Bill,
    "quote": Quote,
    "quote-map": QuoteMap,
    **{view.name: record for record, view in VIEWS.items()},
}
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(name: str) -> str:
    """Return the JSON Schema of a kind of file.

    Raises:
        InputError: there is no such kind.
    """
    model = SCHEMAS[one_of("--schema", name, list(SCHEMAS))]
    _build_parts(Model)
    schema = model.model_json_schema(mode="validation", by_alias=True)
    if name == "problem":
        schema["properties"]["scenarios"] = {
            "type": "object",
            "description": "Named overrides, laid over the problem by --scenario NAME.",
            "additionalProperties": {"type": "object"},
        }
    whole = {"$schema": DRAFT, **schema, "title": f"planner {name} file"}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _build_parts(model: type[Model]) -> None:
    """Build all kinds of a model: pydantic below 2.14 cannot write defaults that are not built."""
    for part in model.__subclasses__():
        part.model_rebuild()
        _build_parts(part)
