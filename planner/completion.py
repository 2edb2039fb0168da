"""What a shell may complete: examples, items, settings of a problem, scenarios of its file.

Names are read out of the files as text where that will do: a shell asks at every key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from planner import shipped

_ITEM = re.compile(r"^  - id: ([a-z][a-z0-9_]*)", re.MULTILINE)


def examples(incomplete: str) -> list[str]:
    """Return the shipped problems that begin so."""
    return _beginning(shipped.problem_files(), incomplete)


def items(incomplete: str) -> list[str]:
    """Return the items of the shipped catalogs that begin so."""
    return _beginning(_items(), incomplete)


def owned(incomplete: str) -> list[str]:
    """Return the items that begin so, for a number of units to follow."""
    return [f"{name}=" for name in items(incomplete)]


def settings(ctx: Any, incomplete: str) -> list[str]:
    """Return the settings of a problem that begin so, one step deeper at a time.

    Args:
        ctx: the command so far.
        incomplete: what is typed of ``PATH=VALUE``; of a value nothing is known.
    """
    from planner.loader.locate import field_names
    from planner.paths import steps_of
    from planner.schema.problem import Problem

    if "=" in incomplete:
        return []
    head, _, tail = incomplete.rpartition(".")
    steps = steps_of(head) if head else ()
    known = all(
        isinstance(step, int)
        or steps[:at] == ("items",)
        or step in field_names(Problem, steps[:at])
        for at, step in enumerate(steps)
    )
    if not known:
        return []
    if steps == ("jobs",):
        names: Iterable[str] = ("0",)
    elif steps == ("items",):
        names = _items()
    else:
        names = field_names(Problem, steps)
    begun = f"{head}." if head else ""
    found = []
    for name in _beginning(names, tail):
        path = f"{begun}{name}"
        deeper = name == "jobs" or (name == "items" and not head)
        deeper = (
            deeper
            or steps == ("jobs",)
            or (steps != ("items",) and bool(_below(Problem, steps_of(path))))
        )
        found += [f"{path}." if deeper or steps == ("items",) else f"{path}="]
    return found


def _below(model: Any, path: Any) -> set[str]:
    from planner.loader.locate import models_at

    here = models_at(model, path[:-1])
    return {
        name
        for one in models_at(model, path)
        if all(one is not above for above in here)
        for name in one.model_fields
    }


def _items() -> list[str]:
    files = shipped.catalog_files().values()
    return [name for path in files for name in _ITEM.findall(path.read_text("utf-8"))]


def scenarios(ctx: Any, incomplete: str) -> list[str]:
    """Return the scenarios of the problem file that the command names."""
    from planner.errors import InputError
    from planner.loader import scenario_names

    problem = ctx.params.get("problem")
    if problem is None:
        return []
    try:
        return _beginning(scenario_names(Path(problem)), incomplete)
    except (InputError, OSError):
        return []


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
