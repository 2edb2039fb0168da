"""planner decides what to buy for an AI training cluster, to a proven gap.

As a library: files or models in, models out, nothing printed, no file written but where that is the
purpose. What is wrong with an input is an `InputError`, whose text is what the command would say.

    import planner

    plan = planner.solve("10MW.yaml", settings={"site.facility_power": "12 MW"})
    str(plan)                       # the first screen of the command
    plan.to_frame()                 # the bill; plan.to_frame("limits"), ...
    planner.verify(plan)

Each function is a command of the same name and has its options (`compare_rules` is `compare
--rules`); `planner.library` has them all.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "InputError": "planner.errors",
    "NoPlanError": "planner.errors",
    "PlannerError": "planner.errors",
    "VerificationError": "planner.errors",
    "Inputs": "planner.inputs",
    "Plan": "planner.schema.plan",
    "Problem": "planner.schema.problem",
}
"""Where names live that are no functions; these are in `planner.library`.

None is imported before it is asked for, so that commands start fast. `__init__.pyi`, which
`scripts/make_library.py` writes, tells editors and type checkers the same.
"""


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return ["__version__", *sorted([*_HOMES, *import_module("planner.library").__all__])]
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    # Python asks for a module's name here before it looks for the module.
    if not name.startswith("_") and find_spec(f"planner.{name}") is None:
        library = import_module("planner.library")
        if name in library.__all__:
            return getattr(library, name)
    raise AttributeError(f"module 'planner' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
