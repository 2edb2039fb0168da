"""What a sizing of storage asks for, the appliances it takes, and what they take in turn."""

from __future__ import annotations

from planner.outputs import scope
from planner.outputs.workbook.alternatives.storage import Lines, meter_factor
from planner.outputs.workbook.bom.totals import subtotal_name
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_2, INTEGER, PERCENT
from planner.outputs.workbook.sensitivity.live import Step
from planner.sizing.demand import VendorRule

# Keeps a quotient that should be whole from being rounded up.
_LESS = "(1-1E-9)"

_CHANGE = "+#,##0;-#,##0;0"
_CHANGE_1 = "+#,##0.0;-#,##0.0;0.0"
CHANGE_2 = "+#,##0.00;-#,##0.00;0.00"
_CHANGE_MILLIONS = "+#,##0.000,,;-#,##0.000,,;0.000"

_STORAGE_KW = subtotal_name("bom_it_power_kw", "Storage")


def plan_steps(lines: Lines) -> list[Step]:
    """Return the steps of the plan's own storage: what it is rated, and its appliances.

    Args:
        lines: what is counted in.
    """

    def rated(kind: str) -> Step:
        name = f"nameplate_{kind}_gb_per_s"
        return Step(f"asked_{kind}", "", name, DECIMAL_1)

    count = Step("count", "", lines.quantity, INTEGER)
    return [rated("read"), rated("write"), count]


def rule_steps(lines: Lines, rule: VendorRule) -> list[Step]:
    """Return the steps of a vendor's rule: bandwidth for the GPUs bought, and appliances.

    Args:
        lines: what is counted in.
        rule: the rule.
    """
    units = f"ROUNDUP(bom_gpus/{rule.per_gpus},0)"

    def asked(kind: str, each: float) -> Step:
        return Step(
            f"asked_{kind}",
            "",
            f"{units}*{each!r}",
            DECIMAL_1,
        )

    return [
        asked("read", rule.read_gb_per_s),
        asked("write", rule.write_gb_per_s),
        _covered(),
        _count(lines),
    ]


def limit_steps(book: Book, lines: Lines) -> list[Step]:
    """Return the steps of what the job's own limits need, at the same interval and GPUs.

    Args:
        book: the workbook, with the names of Checkpoint defined.
        lines: what is counted in.
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
    def bounds(limit: str) -> str:
        each = f"IF(ISNUMBER({limit}),checkpoint_gb/({limit}*interval_s),0)"
        return f"{each}," if book.has(limit) else ""

    sync = f"MAX({bounds('max_blocking')}checkpoint_gb/interval_s)"
    lagging = f"MAX({bounds('max_overlap')}checkpoint_gb/MAX(0,interval_s-stall_s))"
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
    return Step(
        "covered",
        "",
        f"MIN(1,{formula})",
        PERCENT,
    )


def _count(lines: Lines, *, with_capacity: bool = False) -> Step:
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


def taking_steps(book: Book, lines: Lines) -> list[Step]:
    """Return the steps from a number of appliances to power, space and GPU systems forgone.

    Args:
        book: the workbook, with the names of BOM and Checkpoint defined.
        lines: what is counted in.
    """
    storage_kw, unit_kw = _STORAGE_KW, lines.of_storage("unit_power")
    unit_ru, meter = lines.of_storage("unit_rack_units"), meter_factor(book, lines)

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
    if has_prices(book, lines):
        steps.append(each("more_usd", net, _CHANGE_MILLIONS))
        steps.append(_systems("systems_usd", "more_usd", lines.of_systems("unit_net")))
    return steps


def has_prices(book: Book, lines: Lines) -> bool:
    """Return whether this edition shows what appliances and GPU systems cost.

    Args:
        book: the workbook, with the names of BOM defined.
        lines: what is counted in.
    """
    return book.money and book.has(lines.of_storage("unit_net"), lines.of_systems("unit_net"))


def _systems(key: str, more: str, name: str) -> Step:
    text = f'IF(ISNUMBER({name}),{{{more}}}/{name},"{UNKNOWN}")'
    return Step(key, "", text, CHANGE_2)
