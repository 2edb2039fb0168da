"""Which inputs the spread of the objective comes from: Sobol's indices by Saltelli's design."""

from __future__ import annotations

import numpy as np

from planner.schema.sensitivity import Index
from planner.studies.sensitivity.uncertain.sample import EDGE, power_of_two
from planner.studies.sensitivity.uncertain.shapes import Numbers
from planner.studies.sensitivity.uncertain.unknown import Unknown

MOST_WITHOUT = 0.05
"""The largest share of scenarios without a plan with which indices still mean something."""
STILL = 1e-9
"""A relative spread of the objective below which there is nothing to explain."""


def design(unknowns: tuple[Unknown, ...], samples: int, seed: int) -> Numbers:
    """Return N (D + 2) points of the unit cube, N the largest power of two in ``samples``."""
    from SALib.sample import sobol

    made: Numbers = sobol.sample(
        _described(unknowns), power_of_two(samples), calc_second_order=False, seed=seed
    )
    return np.clip(made, EDGE, 1.0 - EDGE)


def indices(
    unknowns: tuple[Unknown, ...], worths: Numbers, seed: int
) -> tuple[tuple[Index, ...], str]:
    """Return the indices of each input, and what there is to say about them.

    Args:
        unknowns: the inputs.
        worths: the objective at each point of the design; nan where there is no plan.
        seed: of the resampling that the confidence comes from.
    """
    from SALib.analyze import sobol

    without = np.isnan(worths)
    count, share = int(without.sum()), float(without.mean())
    of = f"{count:,} of the {len(worths):,} scenarios drawn for the indices"
    if share > MOST_WITHOUT:
        return (), (
            f"No indices: {of} have no plan, more than {MOST_WITHOUT:.0%}, and an objective that "
            "is missing so often cannot be explained. Narrow the distributions."
        )
    mean = float(worths[~without].mean())
    filled = np.where(without, mean, worths)
    if filled.std() <= STILL * max(abs(mean), STILL):
        return (), "No indices: the objective is the same in every scenario."
    found = sobol.analyze(
        _described(unknowns), filled, calc_second_order=False, conf_level=0.95, seed=seed + 1
    )
    note = f"From {len(worths):,} scenarios of their own (Saltelli's design)."
    if count:
        note += f" {of[0].upper()}{of[1:]} have no plan; their objective counts as the mean."
    return tuple(
        Index(
            path=unknown.path,
            label=unknown.label,
            first=float(found["S1"][place]),
            first_confidence=float(found["S1_conf"][place]),
            total=float(found["ST"][place]),
            total_confidence=float(found["ST_conf"][place]),
        )
        for place, unknown in enumerate(unknowns)
    ), note


def _described(unknowns: tuple[Unknown, ...]) -> dict[str, object]:
    """Return the inputs as SALib has them: distributions are ours, so all are shares here."""
    names = [unknown.path for unknown in unknowns]
    return {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
