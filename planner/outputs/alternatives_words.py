"""Near-optimal plans in words, for the screen and for the workbook."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from planner.schema.alternatives import Alternative, Alternatives, Direction
from planner.schema.plan import Line, Plan

_OTHERS = {"storage_vendor": "storage vendor", "gpu_type": "GPU system"}


def behind(share: float) -> str:
    """Return how far behind the best something is, in percent with the digits it needs."""
    size = 100.0 * abs(share)
    if size < 5e-5:
        return "0 %"
    digits = 2 if size >= 0.1 else 3 if size >= 0.01 else 4
    return f"{size:.{digits}f} %"


def tolerance(found: Alternatives) -> str:
    """Return the tolerance as it was asked for."""
    return f"{100.0 * found.within:.6g} %"


def what_it_is(alternative: Alternative) -> str:
    """Return every way in which a plan is extreme or different."""
    named = [f"{way.label} ({way.detail})" if way.detail else way.label for way in alternative.ways]
    return ", ".join(named)


def chosen(plan: Plan, section: str) -> list[Line]:
    """Return the lines of a section that stand for themselves."""
    return [line for line in plan.lines if line.section == section and line.parent is None]


def bought(plan: Plan) -> str:
    """Return the GPU systems and the storage of a plan."""
    lines = [*chosen(plan, "Compute"), *chosen(plan, "Storage")]
    return ", ".join(f"{line.working:,} × {line.model}" for line in lines if line.working)


def units(plan: Plan, section: str) -> int:
    """Return the units in place of a section."""
    return sum(line.working for line in chosen(plan, section))


def command(found: Alternatives, alternative: Alternative) -> str | None:
    """Return what shows a plan in full, None where no problem file can ask for it."""
    settings = next((way.setting for way in alternative.ways if way.setting is not None), None)
    if settings is None:
        return None
    words = ["planner", "solve", found.problem_file or "PROBLEM.yaml"]
    if found.scenario is not None:
        words += ["--scenario", found.scenario]
    for setting in (*found.overrides, *settings):
        words += ["--set", setting]
    return shlex.join(words)


def sentences(found: Alternatives) -> list[str]:
    """Return what was looked for and how that ended, where plans alone do not show it."""
    said = [text for name in _OTHERS for text in _others(found, name)]
    open_ = [each.label for each in found.directions if each.ended == "not_found"]
    if open_:
        said.append(f"not settled: {', '.join(open_)}")
    near = [each.label for each in found.directions if each.ended == "within" and not each.proven]
    if near:
        said.append(f"found, but not proven in time to be the extreme: {', '.join(near)}")
    more = found.found - len(found.alternatives)
    if more > 0:
        plans = "plan that differs" if more == 1 else "plans that differ"
        said.append(f"{more} more {plans} less from these: see them with a larger --most")
    if found.found == 1:
        said.append("every direction leads to the same plan: there is no other at its ends")
    return said


def _others(found: Alternatives, name: str) -> list[str]:
    """Return how the search for other vendors or types ended."""
    mine = [each for each in found.directions if each.name == name]
    what, within = _OTHERS[name], [each for each in mine if each.ended == "within"]
    if not mine:
        return [f"no other {what} is on offer"]
    said = []
    if within:
        names = ", ".join(f"{each.detail} ({behind(each.shortfall or 0.0)})" for each in within)
        said.append(f"another {what} within {tolerance(found)} of the best: {names}")
    return [*said, *_beyond(found, what, mine, also=bool(within))]


def _beyond(
    found: Alternatives, what: str, directions: Sequence[Direction], *, also: bool
) -> list[str]:
    last = directions[-1]
    another = f"any further {what}" if also else f"another {what}"
    if last.ended == "no_plan":
        return [f"no plan is possible with {another}"]
    if last.ended != "beyond":
        return []
    least, most = behind(last.at_least or 0.0), behind(last.shortfall or 0.0)
    far = f"{most} behind" if least == most else f"{least} to {most} behind"
    return [
        f"no plan with {another} lies within {tolerance(found)}: the best one, with "
        f"{last.detail}, is {far}{' (proven)' if last.proven else ''}"
    ]
