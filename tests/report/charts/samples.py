"""Results of studies that charts are tried with, beyond those of the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.library import SweepTable
from planner.report.blocks import Chart
from planner.report.page import report as page
from planner.results import shown_study
from planner.schema.analysis import Frontier, Sweep, Tornado, Uncertain
from planner.schema.plan import Plan
from tests.report.samples_sensitivity import (
    POWER,
    answer,
    end,
    grid_sweep,
    power_sweep,
    rule_sweep,
    storage_frontier,
    sweep,
    swing,
    tornado,
    uncertain,
)


def charts(study: Any, rows: Any = None) -> tuple[Chart, ...]:
    """Return the charts of a study."""
    return shown_study(with_rows(study, rows)).charts


def with_rows(study: Any, rows: Any) -> Any:
    """A study, of a sweep with its rows."""
    return study if rows is None else SweepTable(**dict(study), table=rows)


def report(title: str, plan: Plan | None, studies: Sequence[tuple[Any, Any]]) -> str:
    """Return the page of a plan and studies with their rows."""
    return page(title, plan, [shown_study(with_rows(*each)) for each in studies])


HOSTILE = "a <b>\"R&D\"</b> </script><script>alert('1')</script> $x^2$ %{y} {0} & Söhne"

Rows = dict[str, list[Any]]


def with_a_hole() -> tuple[Sweep, Rows]:
    """Return a sweep without a plan at its beginning and once in between."""

    def found(power_kw: float) -> dict[str, Any]:
        return answer(0.0 if 5200.0 < power_kw < 6100.0 else power_kw)

    return sweep((POWER,), [(500.0 + 250.0 * at,) for at in range(40)], found)


def without_a_plan() -> tuple[Sweep, Rows]:
    """Return a sweep in which nothing is possible."""
    return sweep((POWER,), [(100.0,), (200.0,), (300.0,)], answer)


def hostile() -> list[tuple[Any, Rows | None]]:
    """Return studies of every kind in which each name tries to be more than a name."""
    title = {"problem": HOSTILE, "overrides": (f"jobs.0.name={HOSTILE}",), "scenario": HOSTILE}
    study, rows = rule_sweep((HOSTILE, "light"))
    column = study.columns[0].model_copy(update={"label": HOSTILE})
    columns = (column, *study.columns[1:])
    return [
        (_named(storage_frontier(), title | {"x_label": HOSTILE, "message": HOSTILE}), None),
        (_swings(title), None),
        (_named(_labelled(), title), None),
        (_named(study, title | {"columns": columns}), rows),
    ]


def _swings(title: dict[str, Any]) -> Tornado:
    one = swing("a.b", HOSTILE, "", HOSTILE, end(HOSTILE, "x", 4000.0),
                end("b", "y", None, reason=HOSTILE))  # fmt: skip
    changed: Tornado = _named(tornado(), title | {"swings": (one, *tornado().swings)})
    return changed


def _labelled() -> Uncertain:
    study = uncertain()
    outcomes = tuple(_named(each, {"label": HOSTILE}) for each in study.outcomes)
    candidates = tuple(
        _named(each, {"name": HOSTILE, "counts": {HOSTILE: 3}}) for each in study.candidates
    )
    named: Uncertain = _named(study, {"outcomes": outcomes, "candidates": candidates})
    return named


def _named(record: Any, values: dict[str, Any]) -> Any:
    return record.model_copy(update=values)


def all_kinds() -> list[tuple[Frontier | Tornado | Uncertain | Sweep, Rows | None]]:
    """Return a study of every kind, sweeps of every shape."""
    return [
        (storage_frontier(), None),
        (tornado(), None),
        (uncertain(), None),
        power_sweep(),
        with_a_hole(),
        grid_sweep(),
        without_a_plan(),
    ]
