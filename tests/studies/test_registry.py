"""The registry of studies: what its rows name is there, and fits the options of their commands."""

from __future__ import annotations

import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest
from pydantic import BaseModel

from planner.cli_options import REQUIRED
from planner.commands.report import _OF_REQUESTS, parse_options
from planner.studies.registry import BESIDE_PLANS, RESULTS, SCHEMAS, STUDIES
from planner.studies.study import Result, Study, load

ROOT, FOLDER = Path(__file__).parents[2], "planner/outputs/workbook/studies"


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.name)
def test_what_a_result_names_is_there(result: Result) -> None:
    assert issubclass(load(result.record), BaseModel)
    for name in (result.view, result.sheets, result.charts, result.beside):
        assert not name or callable(load(name))
    assert result.view or not (result.first or result.sheets or result.charts)
    assert bool(result.charts) == bool(result.picture)
    # Without a sheet or charts of its own a result has those of its blocks.
    if not result.view or "Block]" not in str(signature(load(result.view)).return_annotation):
        assert bool(result.sheets) >= bool(result.book or result.kind)
        assert bool(result.charts) >= result.reported


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_a_study_takes_its_own_options_by_name(study: Study) -> None:
    given = {option.name: None if option.default is REQUIRED else option.default
             for option in study.options}  # fmt: skip
    request, own = parse_options(study, given)
    signature(load(study.run)).bind(request, **own)
    assert len({option.name for option in study.options}) == len(study.options)
    assert None not in [own[option.target] for option in study.options if option.several
                        and option.target in own]  # fmt: skip
    assert not set(own) & set(_OF_REQUESTS.values()) - {"jobs"}


def test_every_result_belongs_to_one_study() -> None:
    made = [result for study in STUDIES.values() for result in study.results]
    assert sorted(each.name for each in made) == sorted(each.name for each in RESULTS)
    assert set(BESIDE_PLANS.values()) <= set(RESULTS)
    assert {each.name for each in RESULTS} <= set(SCHEMAS)


def test_every_schema_is_a_file_and_every_sheet_belongs_to_a_result() -> None:
    assert {path.stem for path in (ROOT / "schemas").glob("*.json")} == set(SCHEMAS)
    sheets = {path.stem for path in (ROOT / FOLDER).glob("*.py")} - {"__init__", "stack"}
    named = {result.sheets.partition(":")[0].rpartition(".")[2] for result in RESULTS}
    assert sheets <= named


def test_the_help_loads_no_study() -> None:
    code = (
        "import sys, planner.cli\n"
        "heavy = ('pydantic', 'numpy', 'planner.api', 'planner.studies.explain', 'xlsxwriter')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
