"""What the table says of storage: of one vendor alone, and with faster clients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.outputs.comparison_words import listed, relative
from planner.schema.comparison import Measure, Outcome, RuleRow
from planner.studies.compare.phrases import proven_alike, said, worse_by

_Found = tuple[RuleRow, Outcome]


def on_storage(rows: Sequence[RuleRow], measure: Measure) -> Iterator[str]:
    """Yield clauses; nothing where there is no choice.

    Args:
        rows: the whole table.
        measure: what the rows are measured by.
    """
    vendors = [(row, row.outcome) for row in rows if row.group == "vendor" and row.outcome]
    if len(vendors) > 1:
        yield _vendors(vendors, measure)
    pairs = [row for row in rows if row.group == "variant"]
    for plain, variant in zip(pairs[::2], pairs[1::2], strict=True):
        if plain.outcome is not None and variant.outcome is not None:
            yield _variant((plain, plain.outcome), (variant, variant.outcome), measure)


def _worse(plan: Outcome, than: Outcome, measure: Measure) -> float:
    if plan.measured is None or not than.measured:
        return 0.0
    return worse_by(plan.measured / than.measured - 1.0, measure)


def _vendors(vendors: Sequence[_Found], measure: Measure) -> str:
    """Return whose storage alone does best, whose worst, and how far they are apart."""
    ranked = sorted(vendors, key=lambda found: worse_by(found[1].difference or 0.0, measure))
    best, worst = ranked[0][1], ranked[-1][1]
    apart = _worse(worst, best, measure)
    start = f"with storage of one vendor alone, {measure.label} is"
    if proven_alike(apart, best.gap, worst.gap):
        return f"{start} the same whoever it is, within what is proven"
    ends = ("highest", "lowest") if measure.sense == "maximize" else ("lowest", "highest")
    return (
        f"{start} {ends[0]} with {_alike(best, vendors, measure)} and {ends[1]} with "
        f"{_alike(worst, vendors, measure)}, {relative(apart)} apart"
    )


def _alike(plan: Outcome, vendors: Sequence[_Found], measure: Measure) -> str:
    """Return the vendors whose plans are as good as this one, within what is proven."""
    return listed(
        [
            row.name
            for row, other in vendors
            if proven_alike(_worse(other, plan, measure), other.gap, plan.gap)
        ]
    )


def _variant(plain: _Found, variant: _Found, measure: Measure) -> str:
    """Return what the same hardware with faster clients brings."""
    worse = _worse(variant[1], plain[1], measure)
    if proven_alike(worse, plain[1].gap, variant[1].gap):
        return f"{variant[0].label} does as well as {plain[0].label}, within what is proven"
    return f"{variant[0].label} {said(worse, measure)} than {plain[0].label}"
