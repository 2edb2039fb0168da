"""Overrides in a file: --set @FILE."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import InputError
from planner.loader import load


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
        ("", "the file of overrides is empty; write for example jobs.0"),
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
