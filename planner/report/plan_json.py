"""The plan as JSON: stable key order, quantities' keys end in their unit.

A file carries what its plan was made from, so that whoever gets it can compute every figure again,
and a checksum of each part, so that a change is seen even where no arithmetic can tell.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import Any

from planner.schema.plan import Plan

MOST_BYTES = 20_000_000
"""A plan has far fewer."""
MOST_INPUTS_BYTES = 200_000_000
"""Bound of unpacked inputs of a plan: of 10,000 products they have some 30 MB."""

_DIGITS = 16


def carrying(plan: Plan, inputs: str | None) -> Plan:
    """The plan with its inputs and the checksums of its file."""
    packed = None if inputs is None else _packed(inputs)
    whole = plan.model_copy(update={"inputs": packed, "checksums": None})
    return whole.model_copy(update={"checksums": _checksums(whole.model_dump_json().encode())})


def from_bytes(data: bytes) -> Plan:
    """The plan in such JSON; raises pydantic's ValidationError where it is none."""
    return read(data).plan


@dataclass(frozen=True)
class Written:
    """A plan as a file holds it.

    ``inputs`` is the text of what it was made from, None where the file carries none that can be
    read. ``changed`` names the parts that are not as they were written.
    """

    plan: Plan
    inputs: str | None
    changed: tuple[str, ...]


def read(data: bytes) -> Written:
    """The plan in a file; raises pydantic's ValidationError where there is none."""
    whole = Plan.model_validate_json(data)
    plan = whole.model_copy(update={"inputs": None, "checksums": None})
    now, written = _checksums(data), whole.checksums or {}
    names = (*now, *(name for name in written if name not in now))
    changed = tuple(name for name in names if written.get(name) != now.get(name))
    return Written(plan, None if whole.inputs is None else _unpacked(whole.inputs), changed)


def _packed(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def _unpacked(packed: str) -> str | None:
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(base64.b64decode(packed, validate=True), MOST_INPUTS_BYTES)
        return text.decode() if reader.eof else None
    except (binascii.Error, zlib.error, ValueError):
        return None


def _checksums(data: bytes) -> dict[str, str]:
    """The checksum of each part but the checksums, however its numbers are written."""
    parts: dict[str, Any] = json.loads(data, parse_float=_number)
    return {name: _checksum(part) for name, part in parts.items() if name != "checksums"}


def _number(text: str) -> float | int:
    value = float(text)
    return int(value) if value.is_integer() else value


def _checksum(part: object) -> str:
    text = json.dumps(part, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
