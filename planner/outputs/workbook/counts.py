"""The sheet ``Counts``: what must come with the cluster, for more or fewer units than were solved.

Fabrics grow in steps, so a count has no one rate. The planner counted companions at the steps that
stand here; between two of them a count moves in a straight line, rounded up. Weights per step, 0
but for the two beside the edited count, make that a sum of products.
"""

from __future__ import annotations

from collections.abc import Sequence

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.scope import CORE_SECTIONS, blocks
from planner.outputs.workbook.bom.columns import working_name
from planner.outputs.workbook.book import Book, counted_name
from planner.outputs.workbook.cells import DECIMAL_2, DECIMAL_3_OR_DASH, INTEGER
from planner.outputs.workbook.formulas import cell_range
from planner.outputs.workbook.page import FIRST_ROW, Page, names_by_sku
from planner.schema.beside import SHARED_RACKS, Growth
from planner.schema.plan import Plan

SHEET = "Counts"

_SAYS = (
    "What must come with the cluster, counted by the planner for so many units more or fewer than "
    "were solved; between two counts the line is straight, rounded up.",
    "Quantities on BOM follow from here unless they are typed over. Fabrics grow in steps, and a "
    "change of GPU systems and storage at once is added up: planner audit counts anew.",
)
_KINDS = {"gpu_systems": "GPU systems", "storage": "Storage units"}
_SINGULAR = {"gpu_systems": "GPU system", "storage": "storage unit"}
_TOP = ("Item", "As solved", "Now")
_FAR = 0.25
"""How much larger the cluster is at whose count the rate per unit is told."""


def more_name(kind: str) -> str:
    """Return the defined name of the units that are more than solved, of GPU systems or storage."""
    return f"bom_more_{kind}"


def add(book: Book) -> None:
    """Add the sheet; it is left out where nothing follows."""
    growths = book.growth
    if not growths or book.job is None:
        return
    page = Page(book, SHEET, "Counts that follow the cluster")
    page.banner()
    for row, text in enumerate(_SAYS if book.inside else (), start=FIRST_ROW - 1):
        page.text(row, 0, text, "subtitle")
    listed = list(book.follows)
    row = head = FIRST_ROW + 2
    rates = [f"Each further {_SINGULAR[growth.of]}, about" for growth in growths]
    widths = [44.0, 11.0, 11.0, *[16.0] * len(rates)]
    page.headers(head, list(zip((*_TOP, *rates), widths, strict=True)), 42)
    top = head + 1
    row = top + len(listed) + 1
    rows: list[dict[str, tuple[int, int]]] = []
    for growth in growths:
        row, places = _table(page, growth, row)
        rows.append(places)
    shown = names_by_sku(book.plan) | {SHARED_RACKS: "Racks that several lines share"}
    for place, sku in enumerate(listed):
        _counted(page, top + place, sku, shown[sku], rows)
    last = max(len(growth.steps) for growth in growths) + 1
    for column in range(len(widths), last + 1):
        page.sheet.set_column(column, column, 8)
    page.finish(last, (head + 1, 1))


def _table(page: Page, growth: Growth, row: int) -> tuple[int, dict[str, tuple[int, int]]]:
    """Write the counts at every step; return the next free row, and where each item's are.

    The place of an item is the row of its counts and the row of the steps' weights.
    """
    columns = range(2, 2 + len(growth.steps))
    page.fill(row, (f"{_KINDS[growth.of]}, {growth.units:,} as solved",), "heading", columns.stop)
    page.text(row + 1, 0, "More, or fewer, than as solved")
    page.formula(row + 1, 1, f"={_units(page.book.plan, growth)}-{growth.units}", INTEGER, plan=0.0)
    page.define(more_name(growth.of), row + 1, 1)
    page.text(row + 2, 0, "Weight")
    for column, step in zip(columns, growth.steps, strict=True):
        page.number(row + 1, column, float(step), "+#,##0;-#,##0;0", "fixed")
        weight = _weight(row + 1, columns, column, more_name(growth.of))
        page.formula(row + 2, column, f"={weight}", DECIMAL_3_OR_DASH)
    shown = names_by_sku(page.book.plan) | {SHARED_RACKS: "Racks that several lines share"}
    places: dict[str, tuple[int, int]] = {}
    for offset, (sku, counts) in enumerate(growth.counts.items(), start=3):
        page.text(row + offset, 0, shown[sku])
        for column, count in zip(columns, counts, strict=True):
            page.number(row + offset, column, float(count), INTEGER, "fixed")
        page.number(row + offset, 1, _rate(growth, counts), DECIMAL_2, "fixed")
        places[sku] = row + offset, row + 2
    return row + 4 + len(growth.counts), places


def _units(plan: Plan, growth: Growth) -> str:
    """Return the formula of the units that work in the cluster as edited."""
    kind = "Compute" if growth.of == "gpu_systems" else "Storage"
    entries = [entry for block in blocks(plan) for entry in block.entries]
    core = [each for each in entries if each.line.section in CORE_SECTIONS]
    terms = [working_name(each.line, each.number) for each in core
             if each.line.section == kind and each.line.parent is None]  # fmt: skip
    return "+".join(terms) or "0"


def _weight(row: int, columns: range, column: int, more: str) -> str:
    """Return the weight of a step: 1 at it, 0 at its neighbours, straight between and beyond."""
    at = {each: xl_rowcol_to_cell(row, each, True, True) for each in columns}
    here, first, last = at[column], columns.start, columns.stop - 1
    falls = rises = "0"
    if column < last:
        above = at[column + 1]
        inside = [f"{more}>{here}"] * (column > first) + [f"{more}<={above}"] * (column + 1 < last)
        falls = _if(inside, f"({above}-{more})/({above}-{here})")
    if column > first:
        below = at[column - 1]
        inside = [f"{more}<={here}"] * (column < last) + [f"{more}>{below}"] * (column - 1 > first)
        rises = _if(inside, f"({more}-{below})/({here}-{below})")
    return f"{rises}+{falls}"


def _if(conditions: list[str], value: str) -> str:
    if not conditions:
        return value
    every = conditions[0] if len(conditions) == 1 else f"AND({','.join(conditions)})"
    return f"IF({every},{value},0)"


def _rate(growth: Growth, counts: Sequence[int]) -> float:
    """Return how many more each further unit takes, over the step nearest to a quarter more."""
    solved = growth.steps.index(0)
    wanted = _FAR * growth.units
    others = [place for place in range(len(growth.steps)) if place != solved]
    place = min(others, key=lambda each: abs(growth.steps[each] - wanted))
    return (counts[place] - counts[solved]) / growth.steps[place]


def _counted(
    page: Page, row: int, sku: str, label: str, places: Sequence[dict[str, tuple[int, int]]]
) -> None:
    """Write one item: as solved, now, and what each further unit takes of it."""
    growths = page.book.growth
    count = next(g.counts[sku][g.steps.index(0)] for g in growths if sku in g.counts)
    page.text(row, 0, label)
    page.number(row, 1, float(count), INTEGER, "fixed")
    terms = []
    for column, (growth, where) in enumerate(zip(growths, places, strict=True), start=3):
        if sku not in where:
            page.number(row, column, 0.0, DECIMAL_3_OR_DASH)
            continue
        counts, weights = where[sku]
        last = 1 + len(growth.steps)
        factors = (cell_range(each, 2, each, last) for each in (weights, counts))
        terms.append(f"SUMPRODUCT({','.join(factors)})")
        page.formula(row, column, f"={xl_rowcol_to_cell(counts, 1)}", DECIMAL_3_OR_DASH)
    both = "+".join(terms) + (f"-{count}" if len(terms) > 1 else "")
    text = f"=MAX(0,ROUNDUP({both}-1E-6,0))"
    page.formula(row, 2, text, INTEGER, plan=float(count))
    page.define(counted_name(sku), row, 2)
