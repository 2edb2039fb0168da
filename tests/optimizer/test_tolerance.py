"""No optimum depends on the solver's tolerances."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import api
from planner.case import resolve
from planner.loader import load
from planner.optimizer import highs
from planner.optimizer.build import build
from planner.optimizer.highs import HighsSession
from planner.optimizer.objective import EXPRESSIONS
from tests.optimizer.cases import solve

LOOSE, TIGHT = 1e-6, 1e-7
FALSE_OPTIMUM = Path(__file__).parent / "tolerance" / "r.yaml"
TRUE_PFLOPS = 14.534053890
SHIPPED = sorted((Path(__file__).parents[2] / "problems").glob("*.yaml"))
shipped = pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)


def opened(path: Path) -> HighsSession:
    """Return the integer program of a problem file, in its own objective."""
    case = resolve(load(path))
    master = build(case, case.job.modes[0])
    objective = EXPRESSIONS[case.objective](master)  # may add columns
    session = HighsSession(master.model)
    session.objective(objective, case.maximise)
    return session


def test_a_tolerance_below_a_ten_millionth_proves_a_false_optimum() -> None:
    plan = api.solve(FALSE_OPTIMUM)
    assert plan.status == "optimal"
    assert plan.objective.value == pytest.approx(TRUE_PFLOPS, rel=1e-9)
    assert plan.objective.bound == pytest.approx(TRUE_PFLOPS, rel=2e-6)


def test_no_tolerance_is_below_a_ten_millionth() -> None:
    milp = opened(FALSE_OPTIMUM).milp
    for kind in ("mip", "primal", "dual"):
        assert milp.getOptionValue(f"{kind}_feasibility_tolerance")[1] >= TIGHT


@shipped
def test_a_shipped_model_has_one_optimum_at_two_tolerances(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses, bounds = [], []
    for tolerance in (LOOSE, TIGHT):
        monkeypatch.setattr(highs, "FEASIBILITY", tolerance)
        whole, plan = solve(opened(path)), api.solve(path)
        statuses.append((whole.status, plan.status))
        bounds.append([whole.bound or 0.0, plan.objective.bound or 0.0])
    assert statuses[0] == statuses[1]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-6)
