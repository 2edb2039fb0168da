"""Deliver a plan: the screen or JSON on standard output, workbook and JSON as files."""

from __future__ import annotations

import io
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from planner.errors import Finding, InputError
from planner.outputs import console, plan_json
from planner.outputs.files import write_all
from planner.schema.plan import Plan


def deliver(plan: Plan, problem: Path, folder: Path, *, as_json: bool) -> list[Path]:
    """Print ``plan`` and write its files; return what was written.

    A plan without lines (infeasible, no solution) leaves no files.
    """
    written: list[Path] = []
    if plan.lines:
        scenario = plan.provenance.scenario
        stem = problem.stem if scenario is None else f"{problem.stem}.{scenario}"
        contents = {
            folder / f"{stem}.xlsx": _workbook(plan),
            folder / f"{stem}.plan.json": plan_json.to_bytes(plan),
        }
        write_all(contents)
        written = list(contents)
    text = plan_json.to_bytes(plan).decode() if as_json else console.render(plan)
    sys.stdout.write(text)
    sys.stdout.flush()
    return written


def _workbook(plan: Plan) -> bytes:
    from planner.outputs import workbook

    stream = io.BytesIO()
    workbook.write(plan, stream, created=_created())
    return stream.getvalue()


def _created() -> datetime:
    """Return today, or the day SOURCE_DATE_EPOCH asks for, so that bytes can be reproduced."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        message, fix = f"'{epoch}' is not seconds since 1970", "write for example 1767225600"
        raise InputError(Finding("environment", message, "SOURCE_DATE_EPOCH", fix=fix)) from None
    return now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
