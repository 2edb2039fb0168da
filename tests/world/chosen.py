"""Which parameters are run: what all tests of a file share is made for those alone."""

from __future__ import annotations

from typing import Any

import pytest


def chosen(request: pytest.FixtureRequest, name: str) -> set[Any]:
    """Return the values that a parameter has in the tests to be run of the requesting file."""
    files = (item for item in request.session.items if item.path == request.path)
    specs = (
        item.callspec
        for item in files
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
    )
    return {spec.params[name] for spec in specs if name in spec.params}
