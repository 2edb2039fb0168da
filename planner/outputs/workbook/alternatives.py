"""The sheet ``Alternatives``: storage sized by vendors' rules instead, for the same GPUs, live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from planner.figures import FIGURES
from planner.outputs import scope
from planner.outputs.scope import Entry
from planner.outputs.words import clean, in_money, product
from planner.outputs.workbook.bom import subtotal_name
from planner.outputs.workbook.bom.columns import (
    figure_name,
    quantity_name,
)
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_2, INTEGER, PERCENT, Role
from planner.outputs.workbook.page import BANNER_ROW, FIRST_ROW
from planner.outputs.workbook.rows import UNKNOWN
from planner.outputs.workbook.sensitivity.charts import (
    FONT,
    GRID,
    SOLID,
    STRIPED,
    TITLE_FONT,
    add_bar_series,
    axis,
)
from planner.outputs.workbook.sensitivity.model import (
    GridPage,
    LiveRow,
    Step,
    workings_titles,
    write_case,
)
from planner.sizing.demand import VENDOR_RULES, RuleFamily, VendorRule

_TITLE = "Alternatives: storage by the vendors' rules, for the same GPUs"
_INTRODUCTION = (
    "Here GPUs and interval stay as they are and only the number of appliances differs: nothing on "
    "this sheet is optimised again. All figures follow every edit of the workbook.",
    "Counted are the appliances alone: what they need besides (switch ports, cables, racks, "
    "software, support) is not.",
)


def add(book: Book) -> None:
    """Add the sheet, where there is storage whose appliances can be counted."""
    lines = _find_lines(book) if book.job is not None else None
    if lines is None:
        return
    page = GridPage(book, "Alternatives", _TITLE, _WIDTHS)
    page.banner()
    page.legend()
    for place, text in enumerate(_INTRODUCTION):
        page.text(FIRST_ROW + place, LABEL, text, "subtitle")
    listed = _sizings(book, lines)
    first, taken = _add_takes(page, lines, listed, FIRST_ROW + 3)
    second = _add_buys(page, lines, listed, taken, first + len(listed) + 1)
    at = second + len(listed) + 1
    if lines.storage.line.unit_it_power_kw is not None:
        _add_power_chart(page, first, first + len(listed) - 1, STORAGE_KW, (at, LABEL))
        if lines.systems.line.unit_it_power_kw is not None:
            rows = (second + 1, second + len(listed) - 1)
            _add_gain_chart(page, *rows, (ADDED, FED), (at, F6))
        # The print area ends with the last cell, so the charts get one under them.
        page.text(at + _CHART_ROWS, LABEL, " ", "subtitle")
        page.sheet.set_h_pagebreaks([at])
    page.sheet.repeat_rows(0, BANNER_ROW)
    page.finish(NOTE, (FIRST_ROW, 1))


@dataclass(frozen=True)
class _Lines:
    """The largest line of storage and the largest line of GPU systems that the job uses.

    ``fewest`` is the least number of appliances the product is sold in, as the plan's limits say.
    """

    storage: Entry
    systems: Entry
    fewest: int

    @property
    def quantity(self) -> str:
        """The name of how many appliances there are."""
        return quantity_name(self.storage.number)

    @property
    def appliance(self) -> str:
        """What an appliance is called."""
        return product(self.storage.line)

    def of_storage(self, key: str) -> str:
        """Return the name of a figure of the storage line."""
        return figure_name(key, self.storage.number)

    def of_systems(self, key: str) -> str:
        """Return the name of a figure of the line of GPU systems."""
        return figure_name(key, self.systems.number)


def _find_lines(book: Book) -> _Lines | None:
    """Return the lines to count in, None where the plan has no such lines.

    Args:
        book: the workbook, with the names of BOM defined.
    """
    entries = [entry for block in book.blocks for entry in block.entries]
    types = book.job.gpu_types if book.job else ()
    storage = [
        entry
        for entry in entries
        if entry.line.section == "Storage"
        and entry.line.read_gb_per_s > 0
        and entry.line.write_gb_per_s > 0
        and not entry.line.idle  # more of what stands idle would cost nothing, and have no place
    ]
    systems = [entry for entry in entries if entry.line.gpus and entry.line.sku in types]
    if not storage or not systems:
        return None
    largest = max(storage, key=lambda entry: (entry.line.write_gb_per_s, -entry.number))
    return _Lines(
        largest,
        max(systems, key=lambda entry: (entry.line.gpus, -entry.number)),
        _fewest(book, largest.line.sku),
    )


def _fewest(book: Book, sku: str) -> int:
    limits = [limit for limit in book.plan.limits if limit.name == f"min_units.{sku}"]
    return max((round(limit.limit) for limit in limits), default=0)


def _meter_factor(book: Book, lines: _Lines) -> str:
    """Return the formula of the PUE of the storage line: of liquid and air in proportion."""
    share = lines.storage.line.liquid_share
    if not scope.two_pues(book.plan) or share == 0:
        return "pue"
    return f"({share!r}*pue_liquid+{1 - share!r}*pue)"


# Keeps a quotient that should be whole from being rounded up.
_LESS = "(1-1E-9)"

_CHANGE = "+#,##0;-#,##0;0"
_CHANGE_1 = "+#,##0.0;-#,##0.0;0.0"
_CHANGE_2 = "+#,##0.00;-#,##0.00;0.00"
_CHANGE_MILLIONS = "+#,##0.000,,;-#,##0.000,,;0.000"

_STORAGE_KW = subtotal_name("bom_it_power_kw", "Storage")


def _plan_steps(lines: _Lines) -> list[Step]:
    """Return the steps of the plan's own storage: what it is rated, and its appliances."""

    def rated(kind: str) -> Step:
        name = f"nameplate_{kind}_gb_per_s"
        return Step(f"asked_{kind}", "", name, DECIMAL_1)

    count = Step("count", "", lines.quantity, INTEGER)
    return [rated("read"), rated("write"), count]


def _rule_steps(lines: _Lines, rule: VendorRule) -> list[Step]:
    """Return the steps of a vendor's rule: bandwidth for the GPUs bought, and appliances."""
    units = f"ROUNDUP(bom_gpus/{rule.per_gpus},0)"

    def asked(kind: str, each: float) -> Step:
        return Step(f"asked_{kind}", "", f"{units}*{each!r}", DECIMAL_1)

    return [
        asked("read", rule.read_gb_per_s),
        asked("write", rule.write_gb_per_s),
        _covered(),
        _count(lines),
    ]


def _limit_steps(book: Book, lines: _Lines) -> list[Step]:
    """Return the steps of what the job's own limits need, at the same interval and GPUs.

    Args:
        book: the workbook, with the names of Checkpoint defined.
    """
    lost = {
        kind: f"lost_{kind}_gb_per_s" if book.has(f"lost_{kind}_gb_per_s") else "0"
        for kind in ("read", "write")
    }

    def step(kind: str) -> Step:
        need, client = f"{{needed_{kind}}}", f"client_{kind}_limit_gb_per_s"
        text = f"{need}/delivered_fraction_{kind}+{lost[kind]}"
        return Step(
            f"asked_{kind}", "", f'IF({need}>{client}*(1+1E-9),"{UNKNOWN}",{text})', DECIMAL_1
        )

    return [
        _needed_write(book),
        _needed_read(book),
        step("read"),
        step("write"),
        _covered(),
        _count(lines, with_capacity=scope.limited(book.plan, "capacity")),
    ]


def _needed_write(book: Book) -> Step:
    def bounds(limit: str, every: str) -> str:
        each = f"IF(ISNUMBER({limit}),checkpoint_gb/({limit}*{every}),0)"
        return f"{each}," if book.has(limit) else ""

    # With a local level only each so many-th checkpoint goes to storage, and no stall waits for it.
    levels = book.job is not None and book.job.local is not None
    every, left = "interval_s", "MAX(0,interval_s-stall_s)"
    if levels:
        every = left = "remote_interval_s"
    sync = f"MAX({bounds('max_blocking', 'interval_s')}checkpoint_gb/interval_s)"
    lagging = f"MAX({bounds('max_overlap', every)}checkpoint_gb/{left})"
    text = f'IF(save_mode="sync",{sync},{lagging})'
    return Step("needed_write", "Delivered write needed, GB/s", text, DECIMAL_2)


def _needed_read(book: Book) -> Step:
    timely = ""
    if book.has("max_restore_s"):
        timely = "IF(ISNUMBER(max_restore_s),fan_out*checkpoint_gb/max_restore_s,0),"
    text = f"MAX({timely}1*ingest_gb_per_s)"
    return Step("needed_read", "Delivered read needed, GB/s", text, DECIMAL_2)


def _covered() -> Step:
    """Return how much of what is asked the plan's storage is rated for, at most all of it."""
    sides = ("read", "write")
    formula = ",".join(f"nameplate_{kind}_gb_per_s/MAX(1*{{asked_{kind}}},1E-9)" for kind in sides)
    return Step("covered", "", f"MIN(1,{formula})", PERCENT)


def _count(lines: _Lines, *, with_capacity: bool = False) -> Step:
    """Return the fewest appliances that can be bought; other lines of storage stay as they are."""
    asked = [
        (f"asked_{kind}", f"nameplate_{kind}_gb_per_s", f"unit_{kind}")
        for kind in ("read", "write")
    ]
    if with_capacity and lines.storage.line.usable_tb:
        asked.append(("capacity_needed_tb", "usable_tb", "unit_usable"))

    def each(need: str, there: str, unit: str) -> str:
        name = lines.of_storage(unit)
        cell = f"{{{need}}}" if need.startswith("asked_") else need
        return f"({cell}-({there}-{lines.quantity}*{name}))/{name}"

    text = f"ROUNDUP(MAX(0,{','.join(each(*entry) for entry in asked)})*{_LESS},0)"
    if lines.fewest:
        text = f"MAX({lines.fewest},{text})"
    return Step("count", "", text, INTEGER)


def _taking_steps(book: Book, lines: _Lines) -> list[Step]:
    """Return the steps from a number of appliances to power, space and GPU systems forgone.

    Args:
        book: the workbook, with the names of BOM and Checkpoint defined.
    """
    storage_kw, unit_kw = _STORAGE_KW, lines.of_storage("unit_power")
    unit_ru, meter = lines.of_storage("unit_rack_units"), _meter_factor(book, lines)

    def each(key: str, name: str, number: str) -> Step:
        known = f'IF(ISNUMBER({name}),{{more}}*{name},"{UNKNOWN}")'
        return Step(key, "", known, number)

    steps = [
        Step("more", "", f"{{count}}-{lines.quantity}", _CHANGE),
        each("more_kw", unit_kw, _CHANGE_1),
        Step("storage_kw", "", f"{storage_kw}+{{more_kw}}", DECIMAL_1),
        Step("meter_kw", "", f"{{more_kw}}*{meter}", _CHANGE_1),
        each("more_ru", unit_ru, _CHANGE_1),
        _systems("systems_kw", "more_kw", lines.of_systems("unit_power")),
    ]
    net = lines.of_storage("unit_net")
    if _has_prices(book, lines):
        steps.append(each("more_usd", net, _CHANGE_MILLIONS))
        steps.append(_systems("systems_usd", "more_usd", lines.of_systems("unit_net")))
    return steps


def _has_prices(book: Book, lines: _Lines) -> bool:
    """Return whether this edition shows what appliances and GPU systems cost.

    Args:
        book: the workbook, with the names of BOM defined.
    """
    return book.money and book.has(lines.of_storage("unit_net"), lines.of_systems("unit_net"))


def _systems(key: str, more: str, name: str) -> Step:
    text = f'IF(ISNUMBER({name}),{{{more}}}/{name},"{UNKNOWN}")'
    return Step(key, "", text, _CHANGE_2)


LABEL, F1, F2, F3, F4, F5, F6, F7, F8, F9, F10, F11, F12, NOTE = range(14)
"""Columns of the grid that both tables share; F1 to F12 hold figures."""

_WIDTHS = (33.0, *(9.6,) * 12, 44.0)
"""Their widths in characters."""

_INDENT = 3
_FAMILIES: dict[RuleFamily, str] = {
    "ddn_per_gpu": "DDN",
    "nvidia_superpod_h100": "NVIDIA SuperPOD",
}


class _Sizing(NamedTuple):
    """A way to size the storage: how it is called, its steps, and what is said of it.

    ``asks_most`` marks the vendors' rule that asks for the most bandwidth per GPU.
    """

    label: str
    steps: list[Step]
    source: str
    note: str
    asks_most: bool = False


def _sizings(book: Book, lines: _Lines) -> list[_Sizing]:
    """Return the plan's own sizing, what its limits need, and the vendors' rules.

    Args:
        book: the workbook, with the names of BOM and Checkpoint defined.
    """
    least = "overlap or blocking, restore time, data read and capacity"
    if book.job is not None and book.job.tolerate_down:
        least += f", with {book.job.tolerate_down} down"
    if scope.limited(book.plan, "endurance"):
        least += "; endurance is not counted"
    most = max(VENDOR_RULES.values(), key=lambda rule: rule.write_gb_per_s / rule.per_gpus)
    return [
        _Sizing("This plan", _plan_steps(lines), "  rated, not asked", "  as on BOM"),
        _Sizing("Just what the limits need", _limit_steps(book, lines), least, "not optimised"),
        *(
            _Sizing(f"{_FAMILIES[rule.family]}: {rule.name}", _rule_steps(lines, rule),
                   _source_of(rule), rule.note, rule is most)
            for rule in VENDOR_RULES.values()
        ),
    ]  # fmt: skip


def _source_of(rule: VendorRule) -> str:
    per = "GPU" if rule.per_gpus == 1 else f"{rule.per_gpus} GPUs"
    rates = f"{rule.read_gb_per_s:g} read and {rule.write_gb_per_s:g} write GB/s per {per}"
    return f"{rates}; {rule.source}"


def _begin_row(page: GridPage, row: int, label: str, note: str) -> Role | None:
    """Write the texts of a row; return the look of its figures, None for their own.

    Args:
        label: how the sizing is called.
        note: what its last column says; one that is indented is the plan's own.
    """
    emphasis: Role | None = "total" if note.startswith(" ") else None
    page.fill(row, (label, *("",) * F12, note), emphasis or "text")
    page.grow(row, [(note, _WIDTHS[NOTE] - _INDENT)])
    return emphasis


STORAGE_KW = F6
"""Column of the power of the storage."""

_TAKE_TITLES = (
    "Storage sized by", "Read asked, GB/s", "Write asked, GB/s", "Covered by the plan",
    "Appli-\nances", "More than the plan", "Storage power, kW", "More power, kW",
    "More power at the meter, kW", "More rack units, RU", "GPU systems of that power",
)  # fmt: skip
_TAKE_MONEY_TITLES = ("More net, million USD", "GPU systems of that money")
_WORKINGS = ("Delivered write needed, GB/s", "Delivered read needed, GB/s")
_TAKE_COLUMNS = {
    "asked_read": F1, "asked_write": F2, "covered": F3, "count": F4, "more": F5,
    "storage_kw": STORAGE_KW, "more_kw": F7, "meter_kw": F8, "more_ru": F9, "systems_kw": F10,
    "more_usd": F11, "systems_usd": F12,
}  # fmt: skip


def _add_takes(
    page: GridPage, lines: _Lines, listed: list[_Sizing], row: int
) -> tuple[int, list[LiveRow]]:
    """Write what each sizing takes.

    Returns:
        The row of the first sizing, and the rows of all.
    """
    row = page.heading(row, "What each rule takes", _counted(lines))
    money = tuple(map(in_money, _TAKE_MONEY_TITLES)) if _has_prices(page.book, lines) else ()
    titles = [*_TAKE_TITLES, *money, *("",) * (NOTE - len(_TAKE_TITLES) - len(money)), "Source"]
    first = page.table(row, titles, _WORKINGS)
    columns = _TAKE_COLUMNS | {"needed_write": page.workings, "needed_read": page.workings + 1}
    rows = []
    for at, sizing in enumerate(listed, start=first):
        emphasis = _begin_row(page, at, sizing.label, sizing.source)
        live = LiveRow(page, at, columns)
        live.write([*sizing.steps, *_taking_steps(page.book, lines)], emphasis)
        rows.append(live)
    return first, rows


def _counted(lines: _Lines) -> str:
    """Say which product the appliances are counted in."""
    line = lines.storage.line
    read, write = line.read_gb_per_s / line.working, line.write_gb_per_s / line.working
    text = (
        f"Counted in {clean(lines.appliance, 60)}, line {lines.storage.number}.0 of BOM, at "
        f"{read:,.4g} GB/s read and {write:,.4g} GB/s write each (the solved line's average). "
        "Other storage stays."
    )
    if lines.fewest:
        text += f" At least {lines.fewest:,} of them, as the plan's limits say."
    return text


ADDED, FED = F9, F10
"""Columns of the useful GPUs that the bandwidth adds, and of the GPUs that its power would feed."""

_BUY_TITLES = (
    "Storage sized by",
    FIGURES["delivered_write_gb_per_s"].column,
    FIGURES["delivered_read_gb_per_s"].column,
    "Saving takes, s",
    "{saving}",
    FIGURES["restore_s"].column,
    "Limits of the job",
    FIGURES["goodput"].heading,
    FIGURES["useful_gpus"].heading,
    "Useful GPUs added",
    "GPUs its power would feed",
    "Share of the GPUs, by power",
)
_BUY_MONEY_TITLES = ("Share of the GPUs, by money",)
_BUY_COLUMNS = {
    "write": F1,
    "read": F2,
    "save": F3,
    "restore": F5,
    "holds": F6,
    "goodput": F7,
    "useful": F8,
}
_FED_COLUMNS = {"added": ADDED, "fed": FED, "by_power": F11, "by_money": F12}
_SHARE = "+0.00%;-0.00%;0.00%"
_REMARK = (
    "The same GPUs at the same interval; useful GPUs are those in use times goodput. A minus "
    "stands for what fewer appliances lose or give back."
)


def _add_buys(
    page: GridPage, lines: _Lines, listed: list[_Sizing], taken: list[LiveRow], row: int
) -> int:
    """Write what each sizing does for the job; return the row of the first.

    Args:
        listed: the sizings, the plan's own first.
        taken: their rows, as `_add_takes` returned them.
    """
    row = page.heading(row, "What the additional bandwidth buys", _REMARK, " ")
    shown = _BUY_COLUMNS | {page.saving: F4}
    money = _has_prices(page.book, lines)
    titles = [title.format(saving=page.saving_title) for title in _BUY_TITLES]
    titles += [*_BUY_MONEY_TITLES] if money else []
    titles += [*("",) * (NOTE - len(titles)), "Whom it is for"]
    keys = _varied(page.book, lines, taken[0].terms["more"])
    first = page.table(row, titles, workings_titles(page.model, shown, keys))
    base = ""
    for at, (sizing, take) in enumerate(zip(listed, taken, strict=True), start=first):
        emphasis = _begin_row(page, at, sizing.label, sizing.note)
        varied = _varied(page.book, lines, take.terms["more"])
        live = write_case(page, at, shown, page.workings, varied, page.model, emphasis)
        page.mark(at, F6, "begins with", "OVER", "bad")
        base = base or live.terms["useful"]
        terms = take.terms | {"useful": live.terms["useful"], "base": base}
        fed = LiveRow(page, at, _FED_COLUMNS, terms)
        fed.write(_fed(lines, money), emphasis)
        if sizing.asks_most and type(page.book.at(page.name, at, FED)) is float:
            _say(page, first - 2, sizing.label, fed.terms)
    return first


def _varied(book: Book, lines: _Lines, more: str) -> dict[str, str]:
    """Return what differs with so many more appliances; unknown capacity stays as it is."""
    figures = {
        "rated_write": ("nameplate_write_gb_per_s", lines.of_storage("unit_write")),
        "rated_read": ("nameplate_read_gb_per_s", lines.of_storage("unit_read")),
        "usable": ("usable_tb", lines.of_storage("unit_usable")),
    }
    return {
        key: f"{there}+{more}*{each}"
        for key, (there, each) in figures.items()
        if book.number(each) is not None
    }


def _fed(lines: _Lines, money: bool) -> list[Step]:
    """Return the steps of what the bandwidth adds, and what its power and money would buy."""
    gpus = lines.of_systems("unit_gpus")
    steps = [
        Step("added", "", "ROUND({useful}-{base},2)", _CHANGE_2),
        Step("fed", "", f"{{systems_kw}}*{gpus}", _CHANGE_2),
        Step("by_power", "", "{fed}/bom_gpus", _SHARE),
    ]
    if money:
        steps.append(Step("by_money", "", f"{{systems_usd}}*{gpus}/bom_gpus", _SHARE))
    return steps


def _say(page: GridPage, row: int, label: str, terms: dict[str, str]) -> None:
    """Say in a sentence what the rule that asks for most takes and adds."""
    text = (
        f'"{label} means "&ROUND({{more}},2)&" more appliances and "&ROUND({{more_kw}},2)&'
        '" kW more, for "&ROUND({added},2)&" more useful GPUs; that power would feed "&'
        'ROUND({fed},2)&" GPUs."'
    )
    step = Step("says", "", text, role="subtitle", align="left")
    LiveRow(page, row, {"says": LABEL}, terms).write([step])


_CHART_ROWS = 20
"""Rows that the charts take."""

_ROW_PIXELS = 20
# A label of what is less than the plan's would stand on the names to its left.
_GAINS = "+#,##0.00;;"
_GREY_AXIS = {"color": "#6B6B6B"}


def _add_power_chart(
    page: GridPage, first: int, last: int, column: int, at: tuple[int, int]
) -> None:
    """Draw the power of storage by rule.

    Args:
        first: row of the first sizing.
        last: row of the last.
        column: the column of kW.
        at: row and column of the chart's corner.
    """
    chart = page.book.workbook.add_chart({"type": "bar"})
    add_bar_series(page, chart, "Storage power", (first, last, column), SOLID, "#,##0.0")
    title = "IT power of the storage, by what sizes it"
    _finish_chart(page, chart, title, "Storage power, kW", at, 580)
    chart.set_legend({"none": True})


def _add_gain_chart(
    page: GridPage, first: int, last: int, columns: tuple[int, int], at: tuple[int, int]
) -> None:
    """Draw what the additional bandwidth adds next to what its power would feed.

    Args:
        first: row of the first sizing.
        last: row of the last.
        columns: useful GPUs added, and GPUs that the power would feed.
        at: row and column of the chart's corner.
    """
    chart = page.book.workbook.add_chart({"type": "bar"})
    for name, column, look in (
        ("useful GPUs that the bandwidth adds", columns[0], SOLID),
        ("GPUs that its power would feed", columns[1], STRIPED),
    ):
        add_bar_series(page, chart, name, (first, last, column), look, _GAINS)
    title = "What additional storage adds, and what its power would feed"
    _finish_chart(page, chart, title, "GPUs, against the plan", at, 720)
    chart.set_legend({"position": "bottom", "font": FONT})


def _finish_chart(
    page: GridPage, chart: Any, title: str, across: str, at: tuple[int, int], width: int
) -> None:
    chart.set_title({"name": title, "name_font": TITLE_FONT})
    chart.set_x_axis(
        axis(across, num_format="General", major_gridlines=GRID, label_position="high")
    )
    chart.set_y_axis(axis("", reverse=True, label_position="low", line=_GREY_AXIS))
    chart.set_size({"width": width, "height": (_CHART_ROWS - 1) * _ROW_PIXELS})
    chart.set_chartarea({"border": {"color": "#D9D9D9"}})
    page.sheet.insert_chart(*at, chart, {"x_offset": 4, "y_offset": 4})
