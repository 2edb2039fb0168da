"""The JSON Schemas of the files users write and read."""

from __future__ import annotations

import json

from pydantic import BaseModel

from planner.studies.registry import SCHEMAS, load

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def document(name: str) -> str:
    """Return the JSON Schema of one of the files, by the name that the command line gives it."""
    model: type[BaseModel] = load(SCHEMAS[name])
    schema = model.model_json_schema(mode="validation", by_alias=True)
    if name == "problem":
        schema["properties"]["scenarios"] = {
            "type": "object",
            "description": "Named overrides, laid over the problem by --scenario NAME.",
            "additionalProperties": {"type": "object"},
        }
    whole = {"$schema": DRAFT, **schema, "title": f"planner {name} file"}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
