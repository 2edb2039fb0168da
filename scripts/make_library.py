"""Write ``planner/__init__.pyi``, what editors know of `import planner`.

    python scripts/make_library.py

A test compares it with the functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import planner
from planner import library
from planner.library.functions import study_functions
from planner.studies.registry import RESULTS

_LIBRARY = "planner.library"
STUB = Path(planner.__file__).with_suffix(".pyi")
_TYPES = {
    "collections.abc": ["Sequence"],
    "typing": ["Literal"],
    "planner.library.asking": ["File", "PlanSource", "ProblemSource", "Settings", "TraceSource"],
}


def stub() -> str:
    """Return the stub: functions of studies with their parameters, everything else by its home."""
    made = study_functions()
    functions = "\n".join("\n".join(_function(made[name])) for name in sorted(made))
    return f"{_imports(map(_returned, made.values()))}\n\n__version__: str\n\n{functions}"


def _imports(returned: Iterable[str]) -> str:
    """Return where every name is from; those that are the package's own are named twice."""
    homes = {each.record.partition(":")[2]: each.record.partition(":")[0] for each in RESULTS}
    used = {home: list(names) for home, names in _TYPES.items()}
    for name in returned:
        used.setdefault(homes[name], []).append(name)
    own: dict[str, list[str]] = {}
    for name, home in {**planner._HOMES, **dict.fromkeys(library.WRITTEN_OUT, _LIBRARY)}.items():
        own.setdefault(home, []).append(name)
    lines = []
    for home in sorted({*used, *own}, key=lambda home: (home.startswith("planner"), home)):
        lines += [f"from {home} import {name} as {name}" for name in sorted(own.get(home, ()))]
        if home in used:
            lines.append(f"from {home} import {', '.join(sorted(set(used[home])))}")
    lines.insert(2, "")
    return "\n".join(lines)


def _returned(function: Any) -> str:
    return str(inspect.signature(function).return_annotation)


def _function(function: Any) -> Iterator[str]:
    signature = inspect.signature(function)
    yield f"def {function.__name__}("
    named = False
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not named:
            named = True
            if not any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
                yield "    *,"
        star = "*" if each.kind is each.VAR_POSITIONAL else ""
        default = "" if each.default is each.empty else f" = {_literal(each.default)}"
        yield f"    {star}{each.name}: {each.annotation}{default},"
    yield f") -> {signature.return_annotation}:"
    first, *more = (inspect.getdoc(function) or "").splitlines()
    yield f'    """{first}'
    yield from (f"    {line}".rstrip() for line in more)
    yield '    """'
    yield ""


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
