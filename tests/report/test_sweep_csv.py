"""The table of a sweep as CSV: the numbers come back, no text is a formula."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.report import exports
from planner.report import sweep as sweep_view
from planner.report.exports import defuse_formula
from planner.report.sweep import page
from planner.schema.analysis import Column, Sweep
from tests.report.hostile import TEXTS
from tests.report.studies import ANSWERS, BUDGET, COMMON, POWER
from tests.world.commands import ran


def column(name: str) -> Column:
    return Column(name=name, label=name, kind="answer")


def written(columns: Iterable[Column], rows: Iterable[Mapping[str, Any]]) -> str:
    rows = list(rows)
    return exports.csv_text({c.name: [row.get(c.name) for row in rows] for c in columns})


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
def test_csv_cells_keep_all_digits_and_quote_text(value: object, cell: str) -> None:
    assert one(value) == f"{cell},1"


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_texts_stay_in_their_cell(name: str) -> None:
    columns = [column("a"), column(TEXTS[name]), column("b")]
    text = written(columns, [{"a": 1, TEXTS[name]: TEXTS[name], "b": 2}])
    assert text.count("\n") == 2
    heads, cells = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert heads[::2] == ["a", "b"] and cells == ["1", defuse_formula(TEXTS[name]), "2"]
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
    exports.write_files(*files, columns, types, values)
    arrays = {name: pa.array(values[name], kind(types[name])) for name in values}
    assert all(
        pq.read_table(files[0]).column(n).combine_chunks()[:rows].equals(arrays[n]) for n in values
    )
    as_rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    assert files[1].read_bytes().decode() == written(columns, as_rows)
    cells = written([column("float")], as_rows).splitlines()[1:]
    assert cells == [repr(n) if math.isfinite(n) else "" for n in values["float"]]


def kind(name: str) -> pa.DataType:
    return {"float": pa.float64(), "int": pa.int64(), "str": pa.string()}[name]


# The page with sliders over a sweep: rows in the order of its sliders, one file, within 1 MB.


def sweep(columns, count):
    return Sweep(**COMMON, columns=(*columns, *ANSWERS), rows=count, asked=count,
                 statuses={"optimal": count}, solved=count, reused=0)  # fmt: skip


def table(cells):
    """Return rows whose objective tells power and budget: 1,000 a MW, 1 a MUSD."""
    rows = {name: [each[at] for each in cells] for at, name in enumerate((POWER.name, BUDGET.name))}
    rows["objective"] = [power + budget / 1e6 for power, budget in cells]
    rows["status"] = ["optimal"] * len(cells)
    rows["units.nvidia_gb200_nvl72"] = [int(power) for power, _ in cells]
    return rows


def data_of(content):
    found = re.search(r"const D = (\{.*\});\n", content.decode())
    return json.loads(found[1])


GRID = [(power, budget) for budget in (3e8, 1e8, 2e8) for power in (5000.0, 1000.0)]


def test_rows_stand_in_the_order_of_the_sliders():
    found = data_of(page(sweep((POWER, BUDGET), 6), table(GRID), {"budget.capex": 1.9e8}))
    power, budget = found["axes"]
    assert budget["now"] == 1
    for i, kw in enumerate((1000, 5000)):
        for j, musd in enumerate((100, 200, 300)):
            assert found["tiles"][0]["values"][3 * i + j] == kw + musd
            assert found["texts"][found["buys"][3 * i + j]].startswith(f"{kw:,} × ")
    assert (power["texts"], budget["texts"]) == (["1,000", "5,000"], ["100", "200", "300"])


def test_scenarios_that_are_no_grid_have_one_slider():
    found = data_of(page(sweep((POWER, BUDGET), 5), table(GRID[:5]), {}))
    (axis,) = found["axes"]
    assert len(axis["texts"]) == 5
    assert found["tiles"][0]["values"] == [5300, 1300, 5100, 1100, 5200]


def test_a_row_without_plan_says_why():
    rows = table(GRID)
    rows["status"][1], rows["objective"][1] = "infeasible", None
    rows["reason"] = [None, "too little power", None, None, None, None]
    found = data_of(page(sweep((POWER, BUDGET), 6), rows, {}))
    place = 2  # 1 MW, 300 MUSD
    assert found["buys"][place] == -1
    assert found["reasons"][found["ends"][place]] == "no plan: too little power"


def test_names_of_users_stay_text_and_nothing_is_fetched():
    study = sweep((POWER, BUDGET), 6).model_copy(update={"problem": "</script><script>alert(1)"})
    content = page(study, table(GRID), {}).decode()
    assert content.count("</script>") == 1
    assert "default-src 'none'" in content
    assert not re.search(r"(src|href)=|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", content)


def test_a_sweep_too_large_for_a_page_is_written_without_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep_view, "MOST_BYTES", 1000)
    problem = str(Path(__file__).parents[2] / "problems" / "gpt3_octet.yaml")
    ended = ran("sweep", problem, "--vary", "site.pue=1.1,1.2", "-o", str(tmp_path), "-q")
    assert ended.code == 0
    assert "no page with sliders" in ended.err
    assert (tmp_path / "gpt3_octet.sweep.csv").exists()
    assert not (tmp_path / "gpt3_octet.sweep.html").exists()
