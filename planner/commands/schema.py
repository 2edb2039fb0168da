"""The JSON Schemas of the files users write and read."""

from __future__ import annotations

import json

from pydantic import BaseModel

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def document(name: str) -> str:
    """Return the JSON Schema of one of the files, by the name that the command line gives it."""
    model = _model(name)
    schema = model.model_json_schema(mode="validation", by_alias=True)
    if name == "problem":
        schema["properties"]["scenarios"] = {
            "type": "object",
            "description": "Named overrides, laid over the problem by --scenario NAME.",
            "additionalProperties": {"type": "object"},
        }
    whole = {"$schema": DRAFT, **schema, "title": f"planner {name} file"}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _model(name: str) -> type[BaseModel]:
    from planner.schema.alternatives import Alternatives
    from planner.schema.audit import Audit
    from planner.schema.bill import Bill
    from planner.schema.catalog import Catalog
    from planner.schema.comparison import Comparison, RulesTable
    from planner.schema.explanation import Explanation
    from planner.schema.plan import Plan
    from planner.schema.prices import PriceBook
    from planner.schema.problem import Problem
    from planner.schema.sensitivity import Frontier, Sweep, Tornado, Uncertain
    from planner.schema.simulation import Simulation
    from planner.schema.synthesis import Truth
    from planner.schema.telemetry import Characterization
    from planner.schema.verification import Verification

    models: dict[str, type[BaseModel]] = {
        "problem": Problem,
        "catalog": Catalog,
        "prices": PriceBook,
        "plan": Plan,
        "bill": Bill,
        "audit": Audit,
        "explanation": Explanation,
        "alternatives": Alternatives,
        "comparison": Comparison,
        "rules": RulesTable,
        "sweep": Sweep,
        "frontier": Frontier,
        "tornado": Tornado,
        "uncertain": Uncertain,
        "characterization": Characterization,
        "truth": Truth,
        "simulation": Simulation,
        "verification": Verification,
    }
    return models[name]
