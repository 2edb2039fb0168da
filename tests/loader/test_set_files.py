"""Overrides in a file: --set @FILE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.errors import InputError
from planner.loader import load
from planner.removed import SETTINGS
from tests.world.files import BOOK, CATALOG, FILES, PROBLEM


def laid(tmp_path: Path, text: str, name: str = "measured.yaml") -> str:
    path = tmp_path / name
    path.write_text(text)
    return f"@{path}"


def test_values_of_a_file_are_laid_over(small: str, tmp_path: Path) -> None:
    text = "jobs.0.checkpoint.stall: 7 s\nstorage: {delivered_fraction: {write: 0.33}}\n"
    problem = load(Path(small), settings=(laid(tmp_path, text),)).problem
    assert problem.job.checkpoint.stall_s == 7
    assert problem.storage.delivered_fraction.write == pytest.approx(0.33)
    assert (
        problem.storage.delivered_fraction.read
        == load(Path(small)).problem.storage.delivered_fraction.read
    )


def test_settings_apply_in_their_order(small: str, tmp_path: Path) -> None:
    file = laid(tmp_path, "jobs.0.checkpoint.stall: 7 s\n")
    plain = "jobs.0.checkpoint.stall=9 s"
    for settings, stall in (((file, plain), 9), ((plain, file), 7)):
        assert load(Path(small), settings=settings).problem.job.checkpoint.stall_s == stall


def test_what_a_file_says_counts_as_input(small: str, tmp_path: Path) -> None:
    """The same name with other contents is another input."""
    one = load(Path(small), settings=(laid(tmp_path, "jobs.0.checkpoint.stall: 7 s\n"),))
    two = load(Path(small), settings=(laid(tmp_path, "jobs.0.checkpoint.stall: 8 s\n"),))
    assert one.overrides == two.overrides and one.sha256 != two.sha256


def test_where_a_value_stands_is_told(small: str, tmp_path: Path) -> None:
    inputs = load(Path(small), settings=(laid(tmp_path, "# note\njobs.0.checkpoint.stall: 7 s\n"),))
    assert (inputs.where("jobs.0.checkpoint.stall") or "").endswith("measured.yaml:2")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "the file of overrides is empty"),
        ("- a\n", "the file of overrides is not a mapping of keys to values"),
        ("jobs.3.checkpoint.stall: 7 s\n", r"measured\.yaml:1: .*has no entry '3'"),
        ("x: 1\njobs.0.checkpoint.stall: 7 h?\n", r"measured\.yaml:2: .*stall"),
        ("nonsense: 1\n", r"measured\.yaml:1: .*nonsense"),
        ("a: [\n", r"measured\.yaml"),
    ],
)
def test_wrong_files(small: str, tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        load(Path(small), settings=(laid(tmp_path, text),))


def test_no_file(small: str) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml"):
        load(Path(small), settings=("@nowhere.yaml",))


# A setting of version 0.1 that is gone is refused with the way to say it now.


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
