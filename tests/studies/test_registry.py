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

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.name)
def test_what_a_result_names_is_there(result: Result) -> None:
    assert issubclass(load(result.record), BaseModel)
    for name in (result.view, result.charts, result.beside):
        assert not name or callable(load(name))
    assert result.view or not (result.first or result.charts)
    assert bool(result.charts) == bool(result.picture)
    # Without charts of its own a report has the blocks of a result.
    if not result.view or "Block]" not in str(signature(load(result.view)).return_annotation):
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


def test_every_result_belongs_to_a_study() -> None:
    made = [result for study in STUDIES.values() for result in study.results]
    assert {each.name for each in made} == {each.name for each in RESULTS}
    assert set(BESIDE_PLANS.values()) <= set(RESULTS)
    assert {each.name for each in RESULTS} <= set(SCHEMAS)


def test_every_schema_is_a_file() -> None:
    assert {path.stem for path in (ROOT / "schemas").glob("*.json")} == set(SCHEMAS)


def test_the_help_loads_no_study() -> None:
    code = (
        "import sys, planner.cli\n"
        "heavy = ('pydantic', 'numpy', 'planner.api', 'planner.studies.explain', 'xlsxwriter')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
