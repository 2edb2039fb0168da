"""A setting of version 0.1 that is gone is refused with the way to say it now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.errors import InputError
from planner.loader import load
from planner.removed import SETTINGS
from tests.world.files import BOOK, CATALOG, FILES, PROBLEM

AROUND: dict[str, Any] = {
    "rule": {"read": "1 GB/s", "write": "1 GB/s"},
    "split": [{"category": "storage", "max_share": 0.5}],
    "scale": {"exponent": 0.1, "reference": 512},
    "compute": {"switches": ["any"]},
    "storage": {"switch": "any"},
    "in_band": {"switch": "any"},
    "power_points": [{"gpu_cap": 0.5}],
    "service": {"per": "order"},
}
OF_PROBLEM = ("items.support_level", "items.support_years", "items.public_note")


def put(data: dict[str, Any], path: str) -> None:
    """Add a key to a file, with the mappings around it."""
    *above, last = path.split(".")
    for step in above:
        if not isinstance(data.get(step), (dict, list)):
            data[step] = AROUND.get(step, {}).copy()
        data = data[step][0] if isinstance(data[step], list) else data[step]
    data[last] = 1


@pytest.mark.parametrize("path", SETTINGS)
def test_a_removed_setting_is_refused_with_its_successor(path: str, tmp_path: Path) -> None:
    problem, catalog, book = (yaml.safe_load(text) for text in (PROBLEM, CATALOG, BOOK))
    if path in OF_PROBLEM:
        problem.setdefault("items", {}).setdefault("gpu_box", {})[path.split(".")[1]] = 1
    elif path == "exchange":  # of a price book
        book[path] = 1
    elif path.startswith("prices."):
        book["prices"]["gpu_box"][path.split(".")[1]] = 1
    else:
        put(catalog if path.startswith("items.") else problem, path)
    files = {"own.yaml": catalog, "book.yaml": book, "problem.yaml": problem}
    for name, text in {**FILES, **{n: yaml.safe_dump(data) for n, data in files.items()}}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load(tmp_path / "problem.yaml")
    assert SETTINGS[path] in [each.fix for each in refused.value.findings if each.line]
