"""Files to start from: an example, and the JSON Schemas of the files users write and read."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel

from planner import shipped
from planner.errors import Finding, InputError, did_you_mean
from planner.studies.registry import SCHEMAS
from planner.studies.study import load
from planner.whole_files import write_all

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def write_example(name: str, folder: Path, *, force: bool) -> Path:
    """Write the shipped problem ``name`` into ``folder`` and return its path.

    Raises:
        InputError: no such example, or the file is there already and ``force`` is not given.
    """
    known = shipped.problem_files()
    name = name.removesuffix(".yaml")
    if name not in known:
        hint = did_you_mean(name, list(known)) or "examples: " + ", ".join(known)
        raise InputError(Finding("not-found", f"no example named '{name}'", fix=hint))
    target = folder / f"{name}.yaml"
    if target.exists() and not force:
        fix = "choose another folder with -o, or --force to replace it"
        raise InputError(Finding("exists", "the file is there already", str(target), fix=fix))
    contents = {target: known[name].read_bytes()}
    catalogs = known[name].parent / "catalogs"
    for own in sorted(catalogs.glob("*.yaml")):
        if f"catalogs/{own.name}" in known[name].read_text("utf-8"):
            contents[folder / "catalogs" / own.name] = own.read_bytes()
    write_all(contents)
    return target


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
