"""A plan as a file holds it, computed again from what it carries before anything reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planner import __version__
from planner.errors import Finding, InputError
from planner.foreign_files import contents
from planner.inputs import Inputs, inputs_from_text
from planner.outputs import plan_json
from planner.schema.plan import SCHEMA_VERSION, Plan
from planner.verify import faults

_AGAIN = "solve the problem again"


@dataclass(frozen=True)
class Opened:
    """A plan and what it was made from, as a file holds them; ``changed`` are the parts that are
    not as planner wrote them."""

    name: str
    plan: Plan
    inputs: Inputs
    carried: str
    changed: tuple[str, ...]


def read_plan(path: Path) -> Plan:
    """Return the plan in a file whose every figure follows from the inputs it carries.

    Raises:
        InputError: it cannot be read, or does not hold; the first figure that is wrong is named.
    """
    opened = open_plan(path)
    wrong = faults(opened.inputs, opened.plan) or tuple(map(changed_text, opened.changed))
    if wrong:
        raise InputError(refusal(opened.name, opened.plan, wrong))
    return opened.plan


def open_plan(path: Path) -> Opened:
    """Return what a plan file holds, right or wrong.

    Raises:
        InputError: it cannot be read, or lacks what it takes to check it.
    """
    return from_data(str(path), contents(path, most_bytes=plan_json.MOST_BYTES, what="plan"))


def from_data(name: str, data: bytes) -> Opened:
    """Return what the bytes of a plan file hold; see `open_plan`."""
    try:
        written = plan_json.read(data)
    except (ValueError, RecursionError):
        message = "the file holds no plan of this version of planner"
        fix = "give the PROBLEM.plan.json that planner solve writes"
        raise InputError(Finding("plan", message, name, fix=fix)) from None
    plan = written.plan
    if plan.schema_version != SCHEMA_VERSION:
        message = f"a plan of version {plan.schema_version}, this planner reads {SCHEMA_VERSION}"
        raise InputError(Finding("version", message, name, fix=_AGAIN))
    if written.inputs is None:
        message = "the plan does not carry what it was made from, so it cannot be checked"
        raise InputError(Finding("plan", message, name, path="inputs", fix=_AGAIN))
    try:
        inputs = inputs_from_text(written.inputs)
    except InputError as error:
        message = f"{error.findings[0].message}, so the plan cannot be checked"
        raise InputError(Finding("plan", message, name, path="inputs", fix=_AGAIN)) from None
    return Opened(name, plan, inputs, written.inputs, written.changed)


def changed_text(part: str) -> str:
    """Return what is said of a part of a file that is not as planner wrote it."""
    return f"{part}: not as planner wrote it; the checksum differs"


def refusal(name: str, plan: Plan, wrong: tuple[str, ...]) -> Finding:
    """Return one line on a plan that does not hold: the first figure that is wrong."""
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    here = f"planner {__version__}"
    message = f"the plan does not hold: {wrong[0]}{more}"
    fix = f"planner verify lists them; {_AGAIN}"
    if plan.provenance.tool != here:
        fix = f"written by {plan.provenance.tool}, this is {here}: {_AGAIN}"
    return Finding("verify", message, name, fix=fix)
