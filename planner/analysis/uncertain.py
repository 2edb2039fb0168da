"""Uncertain inputs drawn: the best plans, their outcomes, and the regret of purchases."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from planner.analysis.sweep import FIELD_OF, Row, make_rows
from planner.analysis.tornado import Field, limit_labels, path_label, read_field
from planner.analysis.variants import (
    Answer,
    Numbers,
    Prepared,
    Scenario,
    objective_value,
    read_operation,
    solve_many,
    study_head,
)
from planner.api import Options, solve_with
from planner.case import Case, resolve
from planner.case.model import ObjectiveName
from planner.errors import Finding, InputError, clip, did_you_mean
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Inputs, applied
from planner.loader import NoPathError
from planner.loader.axes import factor, number_of, refuse_overlap
from planner.optimizer import Question
from planner.optimizer.operate import Run
from planner.optimizer.search import Effort
from planner.paths import job_path
from planner.schema.analysis import (
    PLANNED,
    CandidatePlan,
    Percentiles,
    RowStatus,
    Uncertain,
    UncertainInput,
)
from planner.schema.catalog import Confidence
from planner.schema.plan import Plan, Status
from planner.sizing.availability import FAILURES_PER_GPU_DAY, LOST_TIME
from planner.terminal import Progress, ignore

GAP = 1e-6
MOST_CANDIDATES = 16
BROKEN = 1.0
"""Regret of a purchase that breaks a limit, and the largest regret."""
SAMPLES_ALONE = 1_000
"""Below this number of draws other processes cost more than they save."""
EDGE = 1e-9
"""Least distance of points to 0 and 1, where some distributions have no end."""


def study(
    inputs: Inputs,
    dists: Sequence[str],
    options: Options,
    *,
    plan: Plan | None = None,
    samples: int = 256,
    seed: int = 1,
    progress: Progress = ignore,
) -> Uncertain:
    """The record of `planner.uncertain`, with the regret of purchases.

    Regret is measured from the best plan known in each scenario, candidates included.

    Args:
        dists: ``PATH=DISTRIBUTION`` of each input; without any those usually uncertain.
        plan: the best plan of the problem itself, where it is known.

    Raises:
        InputError: a distribution cannot be.
    """
    from scipy.stats import qmc

    unsure, case = read_unknowns(inputs, dists), resolve(inputs)
    if plan is None:
        plan = solve_with(inputs, Options(time_limit_s=options.time_limit_s, explain=False))
    if not options.jobs and options.dask is None and samples < SAMPLES_ALONE:
        options = replace(options, jobs=1)
    planned, count = read_operation(case, plan), len(unsure)
    cube = qmc.LatinHypercube(count, rng=np.random.default_rng(seed)).random(samples)
    scenarios = _draw(unsure, cube)
    tried = dict(solve_many({"": inputs}, scenarios, options, _with_rows, progress))
    found = [tried[place] for place in range(samples)]
    rows, statuses = [row for row, _ in found], Counter(row["status"] for row, _ in found)
    runs = candidates(planned, [a.operation for _, a in found if a.operation is not None])
    good = [(row, answer) for row, answer in found if row["status"] in PLANNED]
    cases = (resolve(applied(inputs, answer.scenario.changes)) for _, answer in good)
    values = [compute_values(there, runs) for there in cases]
    gaps = [row["gap"] for row, _ in good if row["gap"] is not None]
    known: dict[str, Any] = {}
    if good:
        answered = np.array([row["objective"] for row, _ in good])
        first, gap = planned is not None, options.gap
        known = _compared(runs, np.array(values), answered, first, gap, case.maximise)
    return Uncertain(
        **study_head(inputs, options.gap),
        base=plan.objective.best,
        base_bound=plan.objective.bound,
        seed=seed,
        samples=samples,
        status=_status(set(statuses)),
        statuses=dict(sorted(statuses.items())),
        inputs=tuple(
            UncertainInput(path=each.field.path, label=each.label, distribution=each.words)
            for each in unsure
        ),
        outcomes=percentiles(case.objective, [row for row, _ in good]),
        largest_gap=max(gaps, default=None),
        **known,
        message=_message(plan, rows),
    )


def _status(ended: set[RowStatus]) -> Status:
    if ended & set(PLANNED):
        return "optimal" if ended <= {"optimal", "infeasible", "invalid"} else "feasible"
    if "unbounded" in ended:
        return "unbounded"
    return "infeasible" if ended == {"infeasible"} else "no_solution"


def _with_rows(asked: Prepared | None, answers: list[Answer]) -> list[tuple[Row, Answer]]:
    return list(zip(make_rows(asked, answers), answers, strict=True))


def _message(plan: Plan, found: Sequence[Row]) -> str | None:
    """Note on scenarios without a plan."""
    texts = []
    if not plan.jobs:
        texts.append(f"The unchanged problem has no plan: {plan.message}.")
    without = sum(row["status"] not in PLANNED for row in found)
    if without:
        texts.append(f"{without:,} of {len(found):,} scenarios have no plan and are left out.")
    refused = [row["reason"] for row in found if row["status"] in ("invalid", "failed")]
    if refused:
        texts.append(f"{len(refused):,} were refused, the first because: {refused[0]}.")
    return " ".join(texts) or None


def _draw(unsure: Sequence[Unknown], shares: Numbers) -> list[Scenario]:
    """A scenario for each row of points of the unit cube."""
    shares = np.clip(shares, EDGE, 1.0 - EDGE)
    values = np.column_stack([u.distribution.ppf(shares[:, at]) for at, u in enumerate(unsure)])
    found = []
    for index, row in enumerate(values.tolist()):
        fields = zip((each.field for each in unsure), row, strict=True)
        sides = [field.side(field.text(number), "--vary") for field, number in fields]
        found.append(Scenario(index, tuple(change for side in sides for change in side.changes)))
    return found


# Outcomes

QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}
OUTCOMES = (
    "objective useful_gpus useful_pflops goodput capex_usd tco_usd facility_power_kw gpus_in_use "
    "write_gb_per_s interval_s days_to_train"
)
"""Columns of a sweep's rows."""


def percentiles(objective: ObjectiveName, rows: Sequence[Row]) -> tuple[Percentiles, ...]:
    """Spread of each outcome over the scenarios that have it."""
    first, found = OBJECTIVES[objective].figure, list[Percentiles]()
    for name in OUTCOMES.split():
        figure = first if name == "objective" else FIGURES[FIELD_OF.get(name, name)]
        known_in = [row[name] for row in rows if row.get(name) is not None]
        if not known_in or (figure is first and name != "objective"):
            continue
        values = np.array(known_in, dtype=float)
        at = np.quantile(values, list(QUANTILES.values())).tolist()
        known: dict[str, Any] = dict(zip(QUANTILES, at, strict=True))
        known |= {"name": name, "label": figure.label, "unit": figure.unit, "count": len(values)}
        known |= {"mean": values.mean(), "least": values.min(), "most": values.max()}
        found.append(Percentiles(**known))
    return tuple(found)


# Purchases kept in each scenario


def compute_values(case: Case, runs: Sequence[Run]) -> list[float]:
    """Values of purchases under a case, each run at its best; nan where one breaks a limit."""
    ask, offered = Question(case, GAP, Effort(), ties=False), {offer.id for offer in case.offers()}
    found = []
    for run in runs:
        gone = any(count and name not in offered for name, count in run.units.items())
        modes = () if gone else tuple(replace(run, mode=space.mode) for space in ask.spaces)
        values = [objective_value(case, ask.require_run(point)) for point in ask.points(modes)]
        pick = max if case.maximise else min
        found.append(pick(values, default=math.nan))
    return found


def candidates(planned: Run | None, runs: Sequence[Run]) -> list[Run]:
    """Different purchases, at most ``MOST_CANDIDATES``: the planned one, then others spread evenly
    by the GPUs in use.

    Args:
        planned: the plan of the problem itself, None where it has none.
        runs: the best plans of scenarios.
    """

    first = [] if planned is None else [planned]
    found: dict[frozenset[tuple[str, int]], Run] = {}
    for run in [*first, *sorted(runs, key=lambda run: run.gpus)]:
        key = frozenset((name, count) for name, count in run.units.items() if count)
        if planned is None or found.get(key) is not planned:
            found[key] = run
    others = [run for run in found.values() if run is not planned]
    room = min(MOST_CANDIDATES - len(first), len(others))
    spread = np.linspace(0, len(others) - 1, room).round().astype(int).tolist()
    return [*first, *(others[place] for place in spread)]


def regrets(values: Numbers, answered: Numbers, *, maximise: bool) -> Numbers:
    """Regret of each candidate (column) in each scenario (row), as a share of the best.

    Args:
        values: nan where a candidate breaks a limit.
        answered: value of each scenario's own best plan; a candidate may be better within the gap.
    """
    scores = np.column_stack([answered, values]) * (1.0 if maximise else -1.0)
    best = np.nanmax(scores, axis=1)[:, None]
    behind = best - scores[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(behind > 0.0, behind / np.abs(best), 0.0)
    return np.where(np.isnan(values), BROKEN, np.clip(shares, 0.0, BROKEN))


def _compared(
    runs: Sequence[Run],
    values: Numbers,
    answered: Numbers,
    planned: bool,
    gap: float,
    maximise: bool,
) -> dict[str, Any]:
    """Candidates by regret, and the minimax-regret one.

    Args:
        values: of each candidate (column) in each scenario (row), nan where it breaks a limit.
        answered: value of each scenario's own best plan.
        planned: whether the first is the plan of the problem itself, and stays first.
        gap: a plan is among the best where none is better by more than this share.
    """
    behind = regrets(values, answered, maximise=maximise)
    worst, mean, within = behind.max(axis=0), behind.mean(axis=0), ~np.isnan(values)
    order = sorted(range(len(runs)), key=lambda n: (not planned or n > 0, worst[n], mean[n], n))
    plans = []
    for place, n in enumerate(order):
        kept = within[:, n]
        one = CandidatePlan(
            name="nominal" if planned and place == 0 else f"plan {place + (0 if planned else 1)}",
            counts={name: count for name, count in runs[n].units.items() if count},
            best_in=int((kept & (behind[:, n] <= gap)).sum()),
            feasible=float(kept.mean()),
            mean=float(values[kept, n].mean()) if kept.any() else None,
            mean_regret=float(mean[n]),
            most_regret=float(worst[n]),
        )
        plans.append(one)
    least = min(range(len(plans)), key=lambda n: (plans[n].most_regret, plans[n].mean_regret))
    return {"candidates": tuple(plans), "least_regret": least}


# Distributions as text

KINDS: Mapping[str, str] = {
    "uniform": "LOW, HIGH",
    "triangular": "LOW, MODE, HIGH",
    "loguniform": "LOW, HIGH",
}
"""Distributions with their arguments."""
EXAMPLE = "uniform(8 MW, 12 MW)"
FIX = f"write for example --vary 'site.facility_power={EXAMPLE}'"
_CALL = re.compile(r"([A-Za-z_]+)\s*\((.*)\)\Z", re.DOTALL)


class Unknown(NamedTuple):
    """An uncertain input; ``distribution`` is one of scipy.stats, ``words`` as written."""

    field: Field
    distribution: Any
    words: str
    label: str


def read_unknowns(inputs: Inputs, dists: Sequence[str]) -> tuple[Unknown, ...]:
    """Inputs of ``PATH=DISTRIBUTION`` texts; without any those usually uncertain.

    Raises:
        InputError: a distribution cannot be read or does not fit its path, or two of them overlap.
    """
    known, drawn = limit_labels(inputs), list[tuple[Field, str, str, str]]()
    for path, text, reason in _usual(inputs, resolve(inputs)) if not dists else ():
        with suppress(NoPathError):  # the problem does not state it
            drawn.append((Field(inputs, path), text, "", f"{text}: {reason}"))
    for option in dists:
        field, text, origin = read_field(inputs, option, "DISTRIBUTION", FIX)
        drawn.append((field, text, origin, text))
    refuse_overlap(field.variable for field, *_ in drawn)
    return tuple(
        Unknown(field, _law(field, text, origin), words, path_label(inputs, field.path, known))
        for field, text, origin, words in drawn
    )


def _law(field: Field, text: str, origin: str) -> Any:
    """Distribution of scipy.stats of a field.

    Raises:
        InputError: distribution or a value is wrong.
    """
    from scipy import stats

    name, given = _parts(text, origin)
    shape = f"write {name}({KINDS[name]})"
    asked, count = KINDS[name].count(",") + 1, sum(map(bool, given))
    if not field.slot.numeric:
        fix = f"--mode grid takes words: --vary {field.path}=A,B"
        raise _wrong(f"'{field.path}' takes no numbers", origin, fix)
    if not all(given) or len(given) != asked:
        raise _wrong(f"'{clip(text, 40)}' has {count} values, not {asked}", origin, shape)
    worded = next((each for each in given if factor(each) is None), None)
    if field.several and worded is not None:
        words = f"means several values, and {clip(worded, 40)} is no factor of them"
        raise _wrong(f"'{field.path}' {words}", origin, "write for example uniform(x0.8, x1.2)")
    numbers = [number_of(field.side(each, origin).value) or 0.0 for each in given]
    low, high = numbers[0], numbers[-1]
    if sorted(numbers) != numbers or low == high:
        raise _wrong(f"{', '.join(given)} do not rise from LOW to HIGH", origin, shape)
    if name == "triangular":
        return stats.triang((numbers[1] - low) / (high - low), low, high - low)
    if name == "uniform":
        return stats.uniform(low, high - low)
    if low <= 0.0:
        raise _wrong(f"{given[0]} of a loguniform is not more than 0", origin, shape)
    return stats.loguniform(low, high)


def _parts(text: str, origin: str) -> tuple[str, list[str]]:
    """Name of a distribution and its arguments."""
    call = _CALL.match(text)
    if call is None:
        fix = f"write for example {EXAMPLE}; known: {', '.join(KINDS)}"
        raise _wrong(f"'{clip(text, 40)}' is no distribution", origin, fix)
    name = call[1].lower()
    if name not in KINDS:
        fix = did_you_mean(name, list(KINDS)) or f"known: {', '.join(KINDS)}"
        raise _wrong(f"no distribution '{clip(call[1], 40)}'", origin, fix)
    return name, [part.strip() for part in call[2].split(",")]


def _wrong(message: str, origin: str, fix: str) -> InputError:
    return InputError(Finding("vary", message, origin, fix=fix))


# Inputs that are usually uncertain

_PRICES: dict[Confidence, tuple[str, str]] = {
    "low": ("triangular(x0.6, x1, x1.4)", "published prices of one GPU rack, low confidence"),
    "medium": ("triangular(x0.8, x1, x1.2)", "prices of medium confidence, from third parties"),
    "high": ("uniform(x0.95, x1.05)", "prices of high confidence, until the order is signed"),
}
"""By confidence, the least known first."""
_POWER = "triangular(x0.8, x1, x1.1)", "typical to maximum draw of the shipped catalogs"
_OWN_RATE = "loguniform(x0.5, x2)", "a rate of one's own, of as few failures as one cluster has"
_WRITTEN = 0.16, 0.40
"""Write bandwidth of production systems as shares of nameplate: arXiv 2605.09370, 2104.04473."""
_BYTES = 10.0, 14.0
"""Bytes per parameter of training recipes: bf16 moments, and mixed precision with Adam."""


def _usual(inputs: Inputs, case: Case) -> Iterator[tuple[str, str, str]]:
    """Yield path, distribution and reason of prices (as little known as the least known on offer),
    draw, failures, lost time, storage and checkpoint size."""
    job = inputs.problem.job
    priced = {inputs.prices[o.id].confidence for o in case.offers() if o.id in inputs.prices}
    known = [words for confidence, words in _PRICES.items() if confidence in priced]
    if known:
        yield "prices.*.list", *known[0]
    yield "catalog.*.consumes.it_power", *_POWER
    yield _failures(inputs)
    if "lost_time" not in job.model_fields_set:
        low, high = LOST_TIME.low, LOST_TIME.high
        reason = f"published runs lost {100 * low:g} to {100 * high:g} %"
        yield job_path("lost_time"), f"uniform({low:g}, {high:g})", reason
    assumed = inputs.problem.storage.delivered_fraction.write
    low, high = min(_WRITTEN[0], assumed), max(_WRITTEN[1], assumed)
    reason = "production systems wrote at {} to {:.2f} of nameplate".format(*_WRITTEN)
    path = "storage.delivered_fraction.write"
    yield path, f"uniform({low:g}, {high:g})", f"{reason}, {assumed:g} is assumed"
    sized = job.checkpoint.size_gb is not None
    if sized and job.parameters is not None and "bytes_per_parameter" in job.model_fields_set:
        return  # size and bytes have to agree
    (low, high), middle = _BYTES, sum(_BYTES) / 2.0
    path = job_path("checkpoint.size") if sized else job_path("bytes_per_parameter")
    each = None if sized else Field(inputs, path).base
    factors = f"uniform(x{low / middle:.2f}, x{high / middle:.2f})"
    text = f"uniform({low:g}, {high:g})" if each and low <= each <= high else factors
    yield path, text, f"recipes write {low:g} to {high:g} bytes per parameter"


def _failures(inputs: Inputs) -> tuple[str, str, str]:
    job, path = inputs.problem.job, job_path("failures.per_gpu_day")
    stated = any(item.gpu.failures_per_day is not None for item in inputs.items)
    if job.failure_rate is None and stated:
        return "catalog.*.gpu.failures_per_day", *_OWN_RATE
    if isinstance(job.failure_rate, float):
        return path, *_OWN_RATE
    rates = [preset.value for preset in FAILURES_PER_GPU_DAY.values()]
    usual = job.failure_rate in (None, "llama3")
    text = "loguniform(x0.6, x6)" if usual else f"loguniform({min(rates)}, {max(rates)})"
    return path, text, f"published clusters: {min(rates):.3g} to {max(rates):.3g} per GPU and day"
