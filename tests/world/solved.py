"""What is solved is solved once in a run of the tests, whichever process and file asks first."""

from __future__ import annotations

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
from planner.loader import load
from planner.report.exports import attach_inputs
from planner.schema.analysis import Explanation
from planner.schema.plan import Plan
from planner.terminal import ignore

DENSE_HALL = Path(__file__).parents[1] / "data" / "hall_10MW.yaml"
"""A hall of 10 MW for a dense model at one MFU for all types: B200 and an Ethernet fabric."""
FILES = {**shipped.problem_files(), "hall_10MW": DENSE_HALL}
FOLDER = "PLANNER_TESTS_SOLVED"
"""Names the folder in which the processes of a run keep plans for one another."""


def solve(
    problem: Inputs | Path | str,
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    **options: Any,
) -> Plan:
    """Return the verified plan of a problem file, or of inputs made in memory."""
    if isinstance(problem, Inputs):
        return api.solve_with(problem, Options(**options))
    inputs = load(Path(problem), settings=settings, scenario=scenario)
    return api.solve_with(inputs, Options(**options), read_back=True)


@cache
def solved(problem: str, *settings: str, scenario: str | None = None, explain: bool = True) -> Plan:
    """Return the plan of a shipped problem, or of one of the tests.

    Not for tests of solving itself, such as whether it gives the same twice.
    """
    key = sha256(repr((problem, settings, scenario, explain)).encode()).hexdigest()
    kept = Path(os.environ[FOLDER]) / key
    if kept.exists():
        plan: Plan = pickle.loads(kept.read_bytes())
        return plan
    plan = solve(FILES[problem], settings=settings, scenario=scenario, explain=explain)
    _keep(kept, plan)
    return plan


def _keep(kept: Path, found: object) -> None:
    # Another process may do the same at the same time: a file is there whole or not at all.
    begun = kept.with_suffix(f".{os.getpid()}")
    begun.write_bytes(pickle.dumps(found))
    begun.replace(kept)


def explained_once(explain: Callable[..., Explanation]) -> Callable[..., Explanation]:
    """Return `planner.analysis.explain.explain`, done once in a process for the same problem.

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


def write_plan(path: Path, problem: Path | str, *settings: str) -> Plan:
    """Solve a problem file and write the plan to ``path`` as `planner solve` does; return it."""
    inputs = load(Path(problem), settings=settings)
    name = next((name for name, file in FILES.items() if file == Path(problem)), None)
    plan = api.solve_with(inputs, Options()) if name is None else solved(name, *settings)
    path.write_text(attach_inputs(plan, inputs_to_text(inputs)).model_dump_json(indent=2))
    return plan
