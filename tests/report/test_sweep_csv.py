"""The table of a sweep as CSV: the numbers come back, no text is a formula."""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.report import table_files
from planner.report.exports import harmless
from planner.schema.analysis import Column
from tests.report.hostile import TEXTS


def column(name: str) -> Column:
    return Column(name=name, label=name, kind="answer")


def written(columns: Iterable[Column], rows: Iterable[Mapping[str, Any]]) -> str:
    rows = list(rows)
    return table_files.csv_text({c.name: [row.get(c.name) for row in rows] for c in columns})


def one(value: object) -> str:
    return written([column("a"), column("b")], [{"a": value, "b": 1}]).splitlines()[1]


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


def random_columns(seed: int) -> dict[str, list[Any]]:
    """Return columns of each type, some with empty cells, one with none but these."""
    draw = random.Random(seed)
    rows = draw.randint(1, 300)
    some: dict[str, Callable[[], Any]] = {
        "float": lambda: draw.choice([0.0, -0.0, 1.5, -2e300, draw.random(), math.inf]),
        "int": lambda: draw.choice([0, -1, 2**62, draw.randint(-9, 9)]),
        "str": lambda: draw.choice(["", "a", "naïve", "東京", *TEXTS.values()]),
    }
    found = {kind: [make() for _ in range(rows)] for kind, make in some.items()}
    for kind, make in some.items():
        found[f"{kind} or none"] = [draw.choice([None, make()]) for _ in range(rows)]
        found[f"{kind} empty"] = [None] * rows
    return found


@pytest.mark.parametrize("seed", range(5))
def test_both_files_have_what_is_written(seed: int, tmp_path: Path) -> None:
    values = random_columns(seed) | {"status": ["optimal"], "certificate": [None]}
    rows = len(values["int"])
    values |= {name: values[name] * rows for name in ("status", "certificate")}
    types = {name: name.partition(" ")[0] for name in values}
    types |= {"status": "str", "certificate": "str"}
    columns = [column(name) for name in values]
    files = tmp_path / "a.parquet", tmp_path / "a.csv"
    table_files.write_files(*files, columns, types, values)
    arrays = {name: pa.array(values[name], kind(types[name])) for name in values}
    assert all(pq.read_table(files[0]).column(n).combine_chunks()[:rows].equals(arrays[n])
               for n in values)  # fmt: skip
    as_rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    assert files[1].read_bytes().decode() == written(columns, as_rows)
    cells = written([column("float")], as_rows).splitlines()[1:]
    assert cells == [repr(n) if math.isfinite(n) else "" for n in values["float"]]


def kind(name: str) -> pa.DataType:
    return {"float": pa.float64(), "int": pa.int64(), "str": pa.string()}[name]
