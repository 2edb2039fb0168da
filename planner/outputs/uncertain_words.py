"""What an uncertainty study says in words, on the screen and in the workbook."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.comparison_words import counted
from planner.outputs.scales import results
from planner.outputs.sensitivity_words import amount, ended, goal, scenarios, units
from planner.outputs.words import gap, percent
from planner.schema.sensitivity import CandidatePlan, Percentiles, Uncertain

METHODS = {"lhs": "Latin hypercube", "sobol": "Sobol sequence"}
"""What the ways to draw are called."""


def drawn(study: Uncertain) -> str:
    """Return how the scenarios were drawn."""
    method = METHODS[study.method]
    return f"{counted(study.samples, 'sample')}, {method}, seed {study.seed}"


def findings(study: Uncertain) -> list[str]:
    """Return what the study shows, a sentence each."""
    count = sum(study.statuses.values())
    said = [f"{scenarios(count)}: {ended(study.statuses)}."] if count else []
    main = objective(study)
    if main is not None:
        written = results([main.p5, main.p50, main.p95], main.unit)
        said.append(
            f"Best plans: {goal(study)} of {written.with_unit(main.p50)} or less in half of the "
            f"scenarios that have one, between {written.text(main.p5)} and "
            f"{written.with_unit(main.p95)} in nine of ten."
        )
    return [*said, *_breaks(study), *_choices(study), *([proof(study)] if proof(study) else [])]


def objective(study: Uncertain) -> Percentiles | None:
    """Return the distribution of the objective, None where it was not drawn."""
    return next((each for each in study.outcomes if each.name == "objective"), None)


def _breaks(study: Uncertain) -> list[str]:
    """Return which limit the nominal plan breaks most often."""
    most = max(study.breaks, key=lambda each: each.share, default=None)
    if most is None:
        return []
    if not most.breaks:
        return ["Bought as it is, the nominal plan breaks no limit in any scenario."]
    return [
        f"Bought as it is, the nominal plan most often breaks {most.label}: in "
        f"{percent(most.share)} of the scenarios ({most.breaks:,})."
    ]


def _choices(study: Uncertain) -> list[str]:
    """Return the candidates with least regret and the best worst case."""
    said = []
    if study.least_regret is not None:
        each = study.candidates[study.least_regret]
        said.append(
            f"Least regret: {called(each)}, never more than {percent(each.most_regret, 2)} behind "
            f"the best plan of a scenario, {percent(each.mean_regret, 2)} on average."
        )
    if study.best_worst_case is not None:
        each = study.candidates[study.best_worst_case]
        worst = "" if each.worst is None else f", {amount(study, each.worst)} in the worst"
        said.append(f"Best worst case: {called(each)}, within every limit in all scenarios{worst}.")
    return said


def called(candidate: CandidatePlan) -> str:
    """Return a candidate's name with what it buys."""
    return f"{candidate.name} ({units(candidate.counts)})"


def outcomes(study: Uncertain) -> list[tuple[str, Sequence[Percentiles]]]:
    """Return the distributions to show, each with its title, the objective by its name."""
    named = [
        ("The best plan of each scenario: so many of them stay below", study.outcomes),
        (
            "The nominal plan, bought as it is, whatever limits it breaks: so many stay below",
            study.nominal_outcomes,
        ),
    ]
    return [
        (title, [_called(study, each) for each in several]) for title, several in named if several
    ]


def _called(study: Uncertain, each: Percentiles) -> Percentiles:
    return each.model_copy(update={"label": goal(study)}) if each.name == "objective" else each


def proof(study: Uncertain) -> str:
    """Return how far the scenarios' plans are proven; empty where none has a bound."""
    if study.largest_gap is None:
        return ""
    return f"Every scenario's plan is within {gap(study.largest_gap)} of its bound."


def marks(study: Uncertain, place: int) -> str:
    """Return what sets a candidate apart."""
    each = study.candidates[place]
    names = [
        ("nominal", each.nominal and each.name != "nominal"),
        ("least regret", study.least_regret == place),
        ("best worst case", study.best_worst_case == place),
    ]
    return ", ".join(name for name, holds in names if holds)
