"""The pictures of a simulation: a stretch of one run, and where time is lost beside the formula."""

from __future__ import annotations

from collections.abc import Iterator

from planner.figures import capital
from planner.outputs.charts.model import Axis, Bars, Chart, Layer, Panel, Reference, Tone, Whiskers
from planner.outputs.charts.words import short
from planner.outputs.simulation_text import (
    CAUSES,
    SELDOM,
    SPLIT,
    assumed,
    describe_runs,
    span,
    verdict,
)
from planner.outputs.words import Scale, duration, percent, scale
from planner.schema.simulation import Doing, JobSimulated, Simulation, TimelineBar

_LABEL = 40
_AT, _THICKNESS = 0.14, 0.4
_APART, _THIN = 0.17, 0.3
_STORAGE: tuple[Doing, ...] = ("drain", "read")
_LOOKS: dict[Doing, tuple[str, Tone, bool]] = {
    "compute": ("computing", "main", False),
    "lost": ("computing that is lost", "main", True),
    "capture": ("standing still for a checkpoint", "second", False),
    "wait": ("waiting for a drain", "bad", False),
    "restart": ("restarting", "quiet", False),
    "restore": ("reading back", "third", False),
    "planned": ("planned stop", "pale", False),
    "repair": ("waiting for a repair", "bad", True),
    "drain": ("storage writes a checkpoint", "second", True),
    "read": ("storage reads one back", "third", True),
}
"""What a bar of the timeline is called, its colour, and whether it is hatched."""


def timeline(study: Simulation) -> Chart:
    """Return the chart of a stretch of one run: for each job its GPUs, and storage."""
    shown = study.timeline
    zero = shown.start_s if shown.at_s is None else shown.at_s
    unit = scale([shown.end_s - shown.start_s], "s")
    rows: list[str] = []
    for job in study.jobs:
        name = f"{short(job.name, _LABEL)}: " if len(study.jobs) > 1 else ""
        rows += [f"{name}GPUs", f"{name}storage"]
    struck = () if shown.at_s is None else (Reference("interruption", 0.0, False),)
    since = "from the start" if shown.at_s is None else "from the interruption"
    panel = Panel(
        Axis(f"time {since}", unit.unit),
        Axis(""),
        tuple(_bars(study, zero, unit)),
        references=struck,
        rows=tuple(rows),
    )
    title = f"{short(study.problem, _LABEL)}: one run event by event"
    return Chart("timeline", title, " ".join(_timeline_words(study)), (panel,))


def _timeline_words(study: Simulation) -> Iterator[str]:
    shown = study.timeline
    job = study.jobs[0]
    yield f"{job.name}: a checkpoint every {duration(job.interval_s)}, {assumed(job.failures)}."
    if shown.at_s is None:
        yield f"The first {duration(shown.end_s)} of a run: nothing interrupts it so soon."
    else:
        yield f"Shown is an interruption {duration(shown.at_s)} after the start of the run."


def _bars(study: Simulation, zero: float, unit: Scale) -> Iterator[Layer]:
    for doing, (name, tone, hatched) in _LOOKS.items():
        bars = [bar for bar in study.timeline.bars if bar.doing == doing]
        if bars:
            yield Bars(
                name,
                tuple(2.0 * bar.job + (doing in _STORAGE) + _AT for bar in bars),
                tuple((bar.start_s - zero) / unit.size for bar in bars),
                tuple((bar.end_s - zero) / unit.size for bar in bars),
                tuple(_hover(study, bar, name) for bar in bars),
                ("",) * len(bars),
                tone,
                hatched,
                _THICKNESS,
            )


def _hover(study: Simulation, bar: TimelineBar, name: str) -> str:
    job = study.jobs[bar.job].name
    return f"{short(job, _LABEL)}\n{name}: {duration(bar.end_s - bar.start_s)}"


def loss(study: Simulation) -> Chart:
    """Return the chart of where time is lost, of each job what is predicted and simulated."""
    about = f"{study.jobs[0].name}: " if len(study.jobs) > 1 else ""
    words = [f"{capital(describe_runs(study))}.", f"{about}{verdict(study, study.jobs[0])}", SPLIT]
    causes = [cause for cause in CAUSES if any(_ever(job, cause) for job in study.jobs)]
    panels = tuple(_losses(study, job, causes) for job in study.jobs)
    title = f"{short(study.problem, _LABEL)}: where time is lost"
    return Chart("loss", title, " ".join(words), panels)


def _ever(job: JobSimulated, cause: str) -> bool:
    counted = cause not in SELDOM
    return counted or any(getattr(each, cause) > 0 for each in (job.predicted_loss, job.loss))


def _losses(study: Simulation, job: JobSimulated, causes: list[str]) -> Panel:
    found = job.goodput
    together = (
        f"{percent(1.0 - job.predicted, 2)} predicted, {percent(1.0 - found.mean, 2)} simulated"
    )
    rows = (f"all: {together}", *(CAUSES[cause] for cause in causes))
    predicted = [1.0 - job.predicted, *(getattr(job.predicted_loss, cause) for cause in causes)]
    simulated = [1.0 - found.mean, *(getattr(job.loss, cause) for cause in causes)]
    title = short(job.name, _LABEL) if len(study.jobs) > 1 else ""
    layers = (
        _lost("predicted by the formula", predicted, -_APART, "pale"),
        _lost("simulated", simulated, _APART, "main"),
        Whiskers(
            f"9 of 10 single runs of {span(study.length_s)}",
            (_AT + _APART,),
            (100 * (1.0 - found.p95),),
            (100 * (1.0 - found.p5),),
        ),
    )
    return Panel(Axis("share of wall-clock time", "%"), Axis(""), layers, title=title, rows=rows)


def _lost(name: str, shares: list[float], shift: float, tone: Tone) -> Bars:
    """Return the bars of what is lost, of all of it first, whose row says how much."""
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
    return timeline(study), loss(study)
