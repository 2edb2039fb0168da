"""Files of a problem: found by name or path, with their includes, as models."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from planner import units
from planner.errors import Finding, InputError, clip, did_you_mean
from planner.inputs import Document
from planner.loader import locate, yaml12
from planner.untrusted_files import contents

ModelT = TypeVar("ModelT", bound=BaseModel)
FileLine = tuple[str, int | None]
"""A file and a line in it."""


def digest(path: Path) -> str:
    """SHA-256 of the bytes of a file."""
    return hashlib.sha256(contents(path, most_bytes=yaml12.MAX_BYTES, what="file")).hexdigest()


def find(name: str, known: Mapping[str, Path], base: Path, what: str, origin: Finding) -> Path:
    """The file of a ``name``: a shipped name, or a path relative to ``base``."""
    if name in known:
        return known[name]
    if "/" not in name and not name.endswith((".yaml", ".yml")):
        hint = did_you_mean(name, list(known)) or "shipped: " + ", ".join(known)
        message = f"no {what} named '{name[:60]}'"
        raise InputError(Finding("not-found", message, origin.file, origin.line, origin.path, hint))
    if not name.endswith((".yaml", ".yml")):
        message = f"a {what} is a .yaml file, found '{name[:60]}'"
        raise InputError(Finding("not-found", message, origin.file, origin.line, origin.path))
    return _existing(base / name, base, what, origin)


def _existing(path: Path, base: Path, what: str, origin: Finding) -> Path:
    """``path``; raises InputError at the place that names it where it does not exist."""
    try:
        there = path.exists()
    except (OSError, ValueError):
        there = True  # reading it says what is the matter
    if there:
        return path
    near = did_you_mean(path.stem, [other.stem for other in path.parent.glob("*.y*ml")])
    folder = yaml12.shorten_path(base)
    fix = near or f"the path counts from {'this folder' if folder == '.' else folder}"
    message = f"no such {what}: '{clip(str(path), 120)}'"
    raise InputError(Finding("not-found", message, origin.file, origin.line, origin.path, fix))


def validated(
    model: type[ModelT], document: Document, rates: units.Rates = units.NO_RATES
) -> ModelT:
    """The document as a model, amounts at the rates given; raises InputError with all findings."""
    _refuse_other_kind(model, document)
    try:
        return model.model_validate(document.data, context={"rates": rates})
    except ValidationError as error:
        raise InputError(locate.findings(error, document, model)) from None


_KINDS = {"catalog": "a catalog", "price_book": "a price book", "jobs": "a problem file"}
_RESULTS = {"provenance": "a plan", "kind": "what a study found"}
"""Keys of files that planner writes; a plan has jobs as well."""


def _refuse_other_kind(model: type[BaseModel], document: Document) -> None:
    """Raise where a file is plainly one of another kind: one line instead of one per key."""
    own = next(key for key in _KINDS if key in model.model_fields)
    if "schema_version" in document.data:
        _refuse_results(own, document)
    others = [key for key in _KINDS if key in document.data and key != own]
    if own in document.data or not others:
        return
    place = document.place((others[0],))
    message = f"expected {_KINDS[own]}, found {_KINDS[others[0]]}"
    fix = f"{_KINDS[own]} begins with '{own}: '" if own != "jobs" else "a problem file has jobs"
    raise InputError(Finding("kind", message, *place, fix=fix))


def _refuse_results(own: str, document: Document) -> None:
    """Raise where a file is what planner writes; name the problem that a plan was made from."""
    for key in _RESULTS.keys() & document.data:
        message = f"expected {_KINDS[own]}, found {_RESULTS[key]}, as planner writes it"
        fix = f"give {_KINDS[own]}"
        made = document.data[key]
        if own == "jobs" and isinstance(made, dict) and made.get("problem_file"):
            fix = f"give the problem that it was made from: {clip(str(made['problem_file']), 120)}"
        raise InputError(Finding("kind", message, *document.place((key,)), fix=fix))


def read_with_includes(
    files: list[Path], what: str, known: Mapping[str, Path]
) -> list[tuple[Path, Document]]:
    """Read the files and what they include, each once; a circle is an error."""
    seen: dict[Path, Document] = {}

    def visit(path: Path, open_files: tuple[Path, ...], place: FileLine) -> None:
        real = Path(os.path.realpath(path))  # of links in a circle, too
        if real in open_files:
            circle = " -> ".join(yaml12.shorten_path(p) for p in (*open_files, real))
            message, fix = f"circular include: {circle}", "remove one of these includes"
            raise InputError(Finding("circular-include", message, *place, fix=fix))
        if real in seen:
            return
        document = yaml12.read(path, what)
        names = document.data.get("include", ())
        for index, name in enumerate(names if isinstance(names, tuple) else ()):
            below = document.place(("include", index))
            origin = Finding("include", "", *below, f"include.{index}")
            visit(find(str(name), known, path.parent, what, origin), (*open_files, real), below)
        seen[real] = document

    for path in files:
        visit(path, (), (yaml12.shorten_path(path), None))
    return list(seen.items())
