"""What is solved is solved once in a run of the tests, whichever process and file asks first."""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Callable
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from typing import Any

from planner import api, shipped
from planner.api import Options
from planner.inputs import Inputs, inputs_to_text
from planner.optimizer.joint import Certificate
from planner.optimizer.solver import Effort
from planner.outputs import plan_json
from planner.schema.explanation import Explanation
from planner.schema.plan import Plan
from planner.studies.request import ignore

FOLDER = "PLANNER_TESTS_SOLVED"
"""Names the folder in which the processes of a run keep plans for one another."""


@cache
def solved(problem: str, *settings: str, scenario: str | None = None, explain: bool = True) -> Plan:
    """Return the plan of a shipped problem.

    Not for tests of solving itself, such as whether it gives the same twice.
    """
    key = sha256(repr((problem, settings, scenario, explain)).encode()).hexdigest()
    kept = Path(os.environ[FOLDER]) / key
    if kept.exists():
        plan: Plan = pickle.loads(kept.read_bytes())
        return plan
    plan = api.solve(
        shipped.problem_files()[problem],
        settings=settings,
        scenario=scenario,
        options=api.Options(explain=explain),
    )
    _keep(kept, plan)
    return plan


def _keep(kept: Path, found: object) -> None:
    # Another process may do the same at the same time: a file is there whole or not at all.
    begun = kept.with_suffix(f".{os.getpid()}")
    begun.write_bytes(pickle.dumps(found))
    begun.replace(kept)


def once(optimise: Callable[..., Certificate]) -> Callable[..., Certificate]:
    """Return the search of `planner.optimizer.joint`, done once for a case and its options.

    What a search has taken is charged to whoever asks again; one that has less left, or a time
    limit, searches itself.
    """

    def known(*asked: Any, **named: Any) -> Certificate:
        (effort,) = (each for each in asked if isinstance(each, Effort))
        rest = [each for each in asked if each is not effort]
        alone = math.isfinite(effort.left_s)
        if alone or not os.access(
            os.environ[FOLDER], os.R_OK | os.W_OK | os.X_OK, effective_ids=True
        ):
            return optimise(*asked, **named)
        key = sha256(pickle.dumps((rest, sorted(named.items())))).hexdigest()
        kept = Path(os.environ[FOLDER]) / f"search-{key}"
        if kept.exists():
            answer: Certificate
            answer, work = pickle.loads(kept.read_bytes())
            if work < effort.left_work:
                _charge(effort, work)
                return answer
        before = effort.work
        answer = optimise(*asked, **named)
        if answer.status in ("optimal", "infeasible") and not answer.ties_cut:
            _keep(kept, (answer, effort.work - before))
        return answer

    return known


def explained_once(explain: Callable[..., Explanation]) -> Callable[..., Explanation]:
    """Return `planner.studies.explain.explain`, done once in a process for the same problem.

    Within a time limit, or where someone hears how far it has come, it is done anew.
    """
    made: dict[bytes, Explanation] = {}

    @wraps(explain)
    def known(inputs: Inputs, options: Options, **named: Any) -> Explanation:
        if options.time_limit_s is not None or named.get("progress", ignore) is not ignore:
            return explain(inputs, options, **named)
        key = sha256(pickle.dumps((inputs, options, sorted(named.items())))).digest()
        if key not in made:
            made[key] = explain(inputs, options, **named)
        return made[key]

    return known


def _charge(effort: Effort | None, work: float) -> None:
    while effort is not None:
        effort.work += work
        effort = effort.whole


def write_plan(path: Path, problem: Path | str, *settings: str) -> Plan:
    """Solve a problem file and write the plan to ``path`` as `planner solve` does; return it."""
    inputs = api.load(Path(problem), settings=settings)
    plan = api.solve_with(inputs, api.Options())
    path.write_bytes(plan_json.to_bytes(plan, inputs_to_text(inputs)))
    return plan
