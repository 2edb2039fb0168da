"""What measurements say of a problem's inputs, as a table and as options of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from planner.outputs.comparison_words import fitted
from planner.outputs.sensitivity_words import narrowed
from planner.outputs.size_text import table
from planner.outputs.telemetry_figures import exact
from planner.outputs.telemetry_words import one_line
from planner.outputs.words import INDENT, wrapped
from planner.schema.telemetry import Calibration, Override

_LABEL, _NOW, _TEXT = 34, 18, 400


def value_of(override: Override) -> str:
    """Return what an override puts in its place, as a problem file says it."""
    return one_line(override.setting.removeprefix(f"{override.path}="))


def calibration(found: Calibration) -> str:
    """Return the overrides with their ranges, how to use them, and what was not measured."""
    gpus = "" if found.gpus is None else f" on {found.gpus:,} GPUs"
    title = f"{one_line(found.problem, 36)}, calibrated by {one_line(found.job, 28)}{gpus}"
    parts = [title]
    if found.overrides:
        parts += [
            *table(narrowed(_rows(found.overrides), 0), (0,)),
            *_sources(found.overrides),
            "",
            *_use(found),
        ]
    if found.not_measured:
        parts += ["", f"{INDENT}not measured, as the problem has it:"]
        for text in found.not_measured:
            parts += wrapped(one_line(text, _TEXT), f"{INDENT}- ", f"{INDENT}  ")
    return "\n".join(parts)


def _rows(overrides: Sequence[Override]) -> list[list[str]]:
    rows = [["", "now", "measured", "[low,", "high]"]]
    for each in overrides:
        written = exact(each.measured, each.unit)
        rows.append([
            fitted(one_line(each.label), _LABEL),
            "-" if each.now is None else fitted(one_line(each.now), _NOW),
            written.with_unit(each.measured.value),
            f"[{written.text(each.measured.low)},",
            f"{written.text(each.measured.high)}]",
        ])  # fmt: skip
    return rows


def _sources(overrides: Sequence[Override]) -> list[str]:
    told = dict.fromkeys(f"{each.label}: {each.source}" for each in overrides if each.source)
    return [line for text in told for line in wrapped(one_line(text, _TEXT), f"{INDENT}- ", "    ")]


def _use(found: Calibration) -> list[str]:
    settings = [f"{each.path}={value_of(each)}" for each in found.overrides]
    drawn = [
        f"{each.path}={one_line(each.distribution.removeprefix(f'{each.path}='))}"
        for each in found.overrides
        if each.distribution is not None
    ]
    lines = ["To plan with it", *_options("planner solve", "--set", settings)]
    if drawn:
        lines += ["To plan with its ranges", *_options("planner uncertain", "--dist", drawn)]
    return lines


def _options(command: str, option: str, values: Sequence[str]) -> list[str]:
    """Return a command, an option a line, each whole: a shell must be able to read it."""
    lines = [f"{command} PROBLEM.yaml", *(f"{option} {shlex.quote(value)}" for value in values)]
    last = len(lines) - 1
    return [
        f"{INDENT if place == 0 else 2 * INDENT}{line}{'' if place == last else ' ' + chr(92)}"
        for place, line in enumerate(lines)
    ]
