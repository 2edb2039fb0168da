"""Why scenarios have no plan: limits that cannot hold together, found for few and told for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from planner.infeasible import clash
from planner.levers import Lever
from planner.outputs.comparison_words import listed
from planner.studies.sensitivity.alike import Asked
from planner.studies.sensitivity.groups import values
from planner.studies.sensitivity.options import Answer

MOST = 6
"""So many scenarios of a group are looked into; the rest is told what holds for them, too."""
WORK = 3000.0
NO_PLAN = "no plan meets every limit"


def explained(asked: Asked, answers: Sequence[Answer]) -> list[Answer]:
    """Return answers with a reason where there is no plan.

    Limits that cannot hold together cannot do so where those of them that are changed are tighter
    yet: so a reason serves more scenarios than the one it was found for.
    """
    places = [place for place, answer in enumerate(answers) if answer.status == "infeasible"]
    if not places:
        return list(answers)
    points, paths = values(asked.group), asked.group.paths
    top = points.max(axis=0) if paths else points[0]
    loose = {place: float((points[place] / top.clip(1e-300)).sum()) for place in places}
    told: dict[int, str] = {}
    found = 0
    for place in sorted(places, key=lambda place: (-loose[place], place)):
        if place in told or found >= MOST:
            continue
        levers = clash(asked.inputs_of(place), work=WORK)
        found += 1
        columns = [paths.index(lever.path) for lever in levers if lever.path in paths]
        for other in places:
            if other not in told and (points[other] <= points[place])[columns].all():
                told[other] = said(levers, dict(zip(paths, points[other].tolist(), strict=True)))
    found_out = list(answers)
    for place in places:
        found_out[place] = replace(answers[place], reason=told.get(place, NO_PLAN))
    return found_out


def said(levers: Sequence[Lever], here: Mapping[str, float]) -> str:
    """Return that limits cannot hold together, with the values of ``here`` where it has any."""
    if not levers:
        return NO_PLAN
    names = []
    for lever in levers:
        value = here.get(lever.path, lever.value)
        names.append(lever.label if value is None else f"{lever.label} {lever.text(value)}")
    if len(names) == 1:
        return f"{names[0]} cannot be met"
    return f"{listed(names)} cannot hold together"
