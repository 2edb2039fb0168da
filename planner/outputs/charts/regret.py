"""The picture of candidate plans: how far behind the best each stays, on average and at worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.outputs.charts.amounts import counted_lines, short
from planner.outputs.charts.model import Axis, Chart, Layer, Panel, Points, Shape, Tone
from planner.outputs.charts.ticks import is_wide, powers
from planner.outputs.comparison_words import counted
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.sensitivity_words import goal
from planner.outputs.words import percent
from planner.schema.sensitivity import CandidatePlan, Uncertain

_WIDE = 8.0
_LOOKS: tuple[tuple[Tone, Shape], ...] = (
    ("second", "star"), ("third", "diamond"), ("bad", "triangle"),
)  # fmt: skip


def candidates(study: Uncertain) -> Chart:
    """Return the chart of the candidate plans."""
    words = (
        f"{counted(len(study.candidates), 'plan')}, each best in some scenario and kept as it is "
        "in all. Regret is how far behind the best plan of a scenario it stays; a scenario in "
        "which it breaks a limit counts as 100 %. Nearer to the lower left is better. Hollow: "
        "breaks a limit in some scenario."
    )
    panel = Panel(
        _axis("mean regret", [plan.mean_regret for plan in study.candidates]),
        _axis("regret in its worst scenario", [plan.most_regret for plan in study.candidates]),
        tuple(_layers(study)),
    )
    return Chart("candidates", "Which plan to regret least", words, (panel,))


def _axis(label: str, shares: Sequence[float]) -> Axis:
    percents = [100.0 * share for share in shares]
    log = is_wide(percents, _WIDE)
    return Axis(label, "%", log, powers(percents) if log else ())


def _named(study: Uncertain) -> dict[int, str]:
    """Return the candidates that have a name of their own, by place."""
    names: dict[int, list[str]] = {}
    for place, plan in enumerate(study.candidates):
        if plan.nominal:
            names.setdefault(place, []).append("nominal plan")
    if study.least_regret is not None:
        names.setdefault(study.least_regret, []).append("least regret")
    if study.best_worst_case is not None:
        names.setdefault(study.best_worst_case, []).append("best worst case")
    return {place: " and ".join(said) for place, said in names.items()}


def _layers(study: Uncertain) -> Iterator[Layer]:
    names = _named(study)
    others = [plan for place, plan in enumerate(study.candidates) if place not in names]
    for name, plans in (
        ("breaks a limit in some scenario", [plan for plan in others if plan.feasible < 1]),
        ("meets every limit in all", [plan for plan in others if plan.feasible >= 1]),
    ):
        if plans:
            yield _plans(study, name, plans, ("main", "circle"), 7.0)
    for (place, name), look in zip(names.items(), _LOOKS, strict=False):
        plan = study.candidates[place]
        yield _plans(study, f"{name} ({short(plan.name, 30)})", [plan], look, 12.0)


def _plans(
    study: Uncertain,
    name: str,
    plans: Sequence[CandidatePlan],
    look: tuple[Tone, Shape],
    size: float,
) -> Points:
    return Points(
        name,
        tuple(100.0 * plan.mean_regret for plan in plans),
        tuple(100.0 * plan.most_regret for plan in plans),
        tuple(_hover(study, plan) for plan in plans),
        *look,
        any(plan.feasible < 1 for plan in plans),
        size,
    )


def _hover(study: Uncertain, plan: CandidatePlan) -> str:
    lines = [
        short(plan.name, 60),
        *counted_lines(plan.counts),
        f"mean regret {percent(plan.mean_regret, 2)}, at worst {percent(plan.most_regret, 2)}",
        f"best in {counted(plan.best_in, 'scenario')}",
        f"meets every limit in {percent(plan.feasible)}",
    ]
    if plan.mean is not None:
        lines.append(f"mean {goal(study)}: {objective(study, plan.mean)}")
    if plan.worst is not None:
        lines.append(f"worst {goal(study)}: {objective(study, plan.worst)}")
    return "\n".join(lines)
