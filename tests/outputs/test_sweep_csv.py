"""The table of a sweep as CSV: the numbers come back, no text is a formula, memory stays flat."""

from __future__ import annotations

import csv
import io
import math
import tracemalloc
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from planner.outputs import sweep_files
from planner.outputs.bill import harmless
from planner.schema.sensitivity import Column
from tests.outputs import samples_sensitivity as samples
from tests.outputs.hostile import TEXTS


def column(name: str) -> Column:
    return Column(name=name, label=name, kind="answer")


def written(columns: Iterable[Column], rows: Iterable[Mapping[str, Any]]) -> str:
    stream = io.StringIO(newline="")
    sweep_files.write_csv(tuple(columns), rows, stream)
    return stream.getvalue()


def one(value: object) -> str:
    return written([column("a"), column("b")], [{"a": value, "b": 1}]).splitlines()[1]


def test_columns_are_named_as_in_the_record_and_every_number_comes_back() -> None:
    study, columns = samples.power_sweep()
    names = [each.name for each in study.columns]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    text = written(study.columns, rows)
    assert "\r" not in text and text.endswith("\n")
    read = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert list(read[0]) == names
    assert len(read) == study.rows
    for before, after in zip(rows, read, strict=True):
        for name, value in before.items():
            expected = "" if value is None else value
            assert (float(after[name]) if isinstance(value, float) else after[name]) == (
                expected if isinstance(value, float) else str(expected)
            )


def test_it_counts_its_rows() -> None:
    rows = [{"a": 1}, {}, {"a": None}]
    assert sweep_files.write_csv([column("a")], rows, io.StringIO()) == 3
    assert sweep_files.write_csv([column("a")], [], io.StringIO()) == 0


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (0.1 + 0.2, "0.30000000000000004"), (1e22, "1e+22"), (10_000.0, "10000.0"), (-5.5, "-5.5"),
        (7, "7"), (None, ""), ("", ""), (math.nan, ""), (math.inf, ""), (True, "true"),
        (np.float64(0.1), "0.1"), (np.int64(3), "3"), ("0012", '"0012"'), ("a", '"a"'),
        ('a,"b"', '"a,""b"""'), ("=1+1", "\"'=1+1\""),
    ],
)  # fmt: skip
def test_a_cell(value: object, cell: str) -> None:
    assert one(value) == f"{cell},1"


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_texts_stay_in_their_cell(name: str) -> None:
    columns = [column("a"), column(TEXTS[name]), column("b")]
    text = written(columns, [{"a": 1, TEXTS[name]: TEXTS[name], "b": 2}])
    assert text.count("\n") == 2
    heads, cells = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert heads[::2] == ["a", "b"] and cells == ["1", harmless(TEXTS[name]), "2"]
    assert not cells[1].startswith(("=", "+", "-", "@"))


def test_memory_does_not_grow_with_the_rows() -> None:
    class Nowhere(io.StringIO):
        def write(self, text: str) -> int:
            return len(text)

    columns = [column(name) for name in "abcdefgh"]
    tracemalloc.start()
    count = sweep_files.write_csv(
        columns, ({"a": at, "b": str(at)} for at in range(20_000)), Nowhere()
    )
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert most < 3_000_000
