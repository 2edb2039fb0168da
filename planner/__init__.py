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
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "planner.library": (
        "alternatives",
        "audit",
        "bid",
        "characterize",
        "compare",
        "compare_rules",
        "example",
        "explain",
        "frontier",
        "load",
        "simulate",
        "size",
        "solve",
        "sweep",
        "synthesize",
        "tornado",
        "uncertain",
        "verify",
        "workbook",
    ),
    "planner.errors": ("InputError", "NoPlanError", "PlannerError", "VerificationError"),
    "planner.inputs": ("Inputs",),
    "planner.schema.plan": ("Plan",),
    "planner.schema.problem": ("Problem",),
}
"""Where each name lives: none is imported before it is asked for, so that commands start fast.

`__init__.pyi` tells editors and type checkers the same.
"""

__all__ = ["__version__", *sorted(name for names in _HOMES.values() for name in names)]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'planner' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
