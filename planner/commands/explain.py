"""Explain a problem: the screen or JSON on standard output, a workbook as a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from planner.api import Options, load
from planner.commands import EXIT_CODES
from planner.commands.report import Report, write_workbook
from planner.commands.solve import stem
from planner.errors import Finding, InputError
from planner.levers import levers
from planner.outputs import explain_text
from planner.schema.explanation import Explanation
from planner.studies.explain import check_names, explain


def report(
    problem: Path,
    options: Options,
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    steps: Sequence[str] = (),
    asked: Sequence[str] = (),
    folder: Path | None = None,
    as_json: bool = False,
) -> Report:
    """Explain the plan of a problem, or why there is none.

    Args:
        problem: the problem file.
        options: how to solve.
        settings: changes laid over it.
        scenario: a named scenario of the file.
        steps: how far to move limits, each as ``path=value``.
        asked: items whose absence to explain exactly.
        folder: where the workbook goes, None for no workbook.
        as_json: print JSON.

    Raises:
        InputError: the problem or what is asked of it is wrong.
    """
    inputs = load(problem, settings=settings, scenario=scenario)
    check_names([name for name, _ in options.weights], levers(inputs), "--weight")
    check_names(list(options.keep), levers(inputs), "--keep")
    found = explain(inputs, options, steps=dict(pairs("--step", steps)), asked=tuple(asked))
    text = found.model_dump_json(indent=2) if as_json else explain_text.render(found).rstrip("\n")
    written = () if folder is None else _write(found, folder, problem)
    return Report(text, written, EXIT_CODES[found.plan.status])


def pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return ``path=value`` texts as pairs.

    Raises:
        InputError: one is not of that form.
    """
    found = []
    for text in texts:
        path, separator, value = text.partition("=")
        if not separator or not path.strip() or not value.strip():
            fix = f"write for example {option} site.facility_power='100 kW'"
            raise InputError(Finding("option", f"'{text[:80]}' is not PATH=VALUE", option, fix=fix))
        found.append((path.strip(), value.strip()))
    return found


def weights(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return ``path=number`` texts as pairs.

    Raises:
        InputError: one is not of that form, or no positive number.
    """
    found = []
    for path, text in pairs("--weight", texts):
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0.0 < number < 1e6:
            fix = "give a number above 0, such as 2"
            raise InputError(Finding("weight", f"'{text[:40]}' is no weight", "--weight", fix=fix))
        found.append((path, number))
    return tuple(found)


def _write(found: Explanation, folder: Path, problem: Path) -> tuple[Path, ...]:
    from planner.outputs.workbook.studies.why import sheets

    plan = found.plan
    adders = [partial(add, found=found) for add in sheets(found)]
    name = f"{stem(plan, problem)}.explain.xlsx"
    return write_workbook(folder, name, plan, adders, f"{plan.problem}: why")
