"""What the jobs' own logs would say: when they save, fail and compute again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Literal

from planner.simulation.history import History, Stay

Event = Literal["start", "checkpoint_begin", "checkpoint_end", "failure", "stop", "resume", "end"]
"""``checkpoint_begin``: the GPUs stop for it; ``checkpoint_end``: they go on, while it may still be
on its way; ``stop``: planned; ``resume``: computing again."""

Told = tuple[float, str, Event]
"""When (s from the start), which job, what."""

_KINDS = {"compute": "compute", "capture": "save", "wait": "save"}


def events(history: History) -> list[Told]:
    """Return what the logs of all jobs say, in order of time.

    A checkpoint that is broken off while the GPUs stand still for it has no end.
    """
    found: list[Told] = []
    for job, name in enumerate(history.jobs):
        told = [(0.0, "start"), *_interruptions(history, job), *_stood(history, job)]
        told.sort(key=lambda one: one[0])
        found += [(at, name, what) for at, what in (*told, (history.length_s, "end"))]
    return sorted(found, key=lambda one: one[0])


def _interruptions(history: History, job: int) -> Iterator[tuple[float, Event]]:
    for each in history.interruptions:
        if each.job == job:
            yield each.at_s, "stop" if each.planned else "failure"


def _stood(history: History, job: int) -> Iterator[tuple[float, Event]]:
    """Tell where the GPUs stopped for a checkpoint and went on, or went on after a failure."""
    spans = _spans([stay for stay in history.stays if stay.job == job])
    saves = [(0.0, 0.0)]
    for before, (kind, start_s, end_s) in pairwise([("compute", 0.0, 0.0), *spans]):
        if kind == "save" and before[0] == "compute":
            saves.append((start_s, end_s))
            yield start_s, "checkpoint_begin"
        elif kind == "compute" and before[0] == "save":
            yield start_s, "checkpoint_end"
        elif kind == "compute" and before[0] == "down":
            yield start_s, "resume"
    for at_s in _writes(history, job):
        _, end_s = saves[bisect_right(saves, (at_s, at_s)) - 1]
        if at_s > end_s:  # the GPUs did not stop at all
            yield at_s, "checkpoint_begin"
            yield at_s, "checkpoint_end"


def _spans(stays: Sequence[Stay]) -> list[tuple[str, float, float]]:
    """Return what a job does in turn: compute, save, or be down."""
    found = []
    for kind, group in groupby(stays, lambda stay: _KINDS.get(stay.state, "down")):
        members = list(group)
        found.append((kind, members[0].start_s, members[-1].end_s))
    return found


def _writes(history: History, job: int) -> Iterator[float]:
    for each in history.transfers:
        if each.job == job and each.kind == "checkpoint":
            yield each.start_s
