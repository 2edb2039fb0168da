"""The picture of a simulation: time lost by cause, predicted and simulated."""

from __future__ import annotations

from planner.figures import capital
from planner.outputs.charts.model import Axis, Bars, Chart, Panel, Tone, Whiskers
from planner.outputs.charts.words import short
from planner.outputs.simulation_text import (
    SPLIT,
    causes_of,
    describe_runs,
    label_of,
    verdict,
)
from planner.outputs.words import percent
from planner.schema.simulation import Simulation

_LABEL = 40
_AT, _APART, _THIN = 0.14, 0.17, 0.3


def loss(study: Simulation) -> Chart:
    """Return the chart of lost time: in all, and by cause."""
    job, found = study.jobs[0], study.jobs[0].goodput
    causes = causes_of(job)
    both = f"{percent(1.0 - job.predicted, 2)} predicted, {percent(1.0 - found.mean, 2)} simulated"
    predicted = [1.0 - job.predicted, *(getattr(job.predicted_loss, each) for each in causes)]
    simulated = [1.0 - found.mean, *(getattr(job.loss, each) for each in causes)]
    whiskers = Whiskers(
        "9 of 10 single runs",
        (_AT + _APART,),
        (100 * (1.0 - found.p95),),
        (100 * (1.0 - found.p5),),
    )
    panel = Panel(
        Axis("share of wall-clock time", "%"),
        Axis(""),
        (
            _bars("predicted by the formula", predicted, -_APART, "pale"),
            _bars("simulated", simulated, _APART, "main"),
            whiskers,
        ),
        rows=(f"all: {both}", *map(label_of, causes)),
    )
    words = f"{capital(describe_runs(study))}. {capital(verdict(job))}. {SPLIT}"
    return Chart("loss", f"{short(study.problem, _LABEL)}: lost time by cause", words, (panel,))


def _bars(name: str, shares: list[float], shift: float, tone: Tone) -> Bars:
    texts = tuple(percent(share, 3 if share < 0.01 else 2) for share in shares)
    return Bars(
        name,
        tuple(row + _AT + shift for row in range(len(shares))),
        (0.0,) * len(shares),
        tuple(100 * share for share in shares),
        tuple(f"{name}: {text}" for text in texts),
        ("", *texts[1:]),
        tone,
        False,
        _THIN,
    )


def charts(study: Simulation) -> tuple[Chart, ...]:
    """Return the charts of a simulation."""
    return (loss(study),)
