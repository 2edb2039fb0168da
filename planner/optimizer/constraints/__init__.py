"""Constraint families: one file each, found here, never importing one another.

A family is a module with ``add(build)``, which adds named rows and links over the shared
expressions of ``build``. A new family is a new file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def families() -> tuple[Callable[[Any], None], ...]:
    """Return the ``add`` of every family, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}").add for name in names)
