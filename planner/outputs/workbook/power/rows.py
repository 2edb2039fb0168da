"""Rows of the sheet ``Power & Cooling``: from the IT load to the meter, heat, air and water."""

from __future__ import annotations

from dataclasses import replace

from planner.outputs import scope
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.rows import Input, Result
from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_2,
    DECIMAL_3,
    INTEGER,
    PERCENT,
)
from planner.sizing.facility import BTU_PER_H_PER_KW, HOURS_PER_YEAR

Row = Input | Result
Rows = tuple[str, tuple[Row, ...]]
"""A heading with its rows."""

BTU_PER_H_PER_TON = 12_000.0
AIR_RISE_DEGF, LIQUID_RISE_K = 20.0, 10.0
"""What the rises of temperature are until the reader says otherwise."""

_OWN = "an assumption of this sheet, not of the plan: give the site's own"

_DEGF_PER_K = 1.8
# BTU/h that a CFM of standard air carries per degF: 60 min/h x 0.075 lb/ft3 x 0.24 BTU/(lb degF).
_BTU_PER_CFM_DEGF = 1.08
_M3_PER_H_PER_CFM = 1.69901079552  # 0.3048^3 m³/ft³ x 60 min/h
_KJ_PER_KG_K = 4.186  # water
_KWH_PER_MWH = 1000.0
_FLAG, _TYPICAL_FLAG = "bom_it_power_kw_flag", "bom_typical_power_kw_flag"


def sections(book: Book) -> list[Rows]:
    """Return the rows under their headings, each after what it rests on."""
    return [
        ("Power, from the IT load to the meter", (*_it_power(book), *_meter(book))),
        ("Energy in a year of 8,760 h", _energy(book)),
        ("Heat of the IT load, and what carries it", (*_heat(book), *_air(book), *_liquid(book))),
    ]


def same(name: str, label: str, unit: str, how: str, number: str, flag: str) -> Result:
    """Return the row of a figure that has its place elsewhere in the workbook."""
    return Result(name, label, unit, name, how, number, flag=flag, cross=True)


def ratio(
    name: str,
    label: str,
    cells: tuple[str, str],
    *,
    how: str,
    unit: str = "",
    number: str = DECIMAL_2,
    flag: str = "",
) -> Result:
    """Return the row of one figure divided by another, ``cells`` being their names."""
    return Result(name, label, unit, "/".join(cells), how, number, flag=flag)


def _it_power(book: Book) -> tuple[Row, ...]:
    how = "what every device draws at most, from BOM"
    rows: list[Row] = [same("it_power_kw", "IT power", "kW", how, DECIMAL_1, _FLAG)]
    if book.has("typical_power_kw"):
        name, how = "typical_power_kw", "the maximum where a line's typical draw is not known"
        label = "IT power, typical"
        rows.append(same(name, label, "kW", how, DECIMAL_1, _TYPICAL_FLAG))
        label, how = "Typical power, share of the maximum", "typical / maximum IT power"
        cells = (name, "it_power_kw")
        share = ratio("typical_share", label, cells, how=how, unit="share", number=PERCENT)
        rows.append(share)
    return tuple(rows)


def _meter(book: Book) -> tuple[Row, ...]:
    two = scope.two_pues(book.plan)
    how = "power usage effectiveness; from Checkpoint, where it can be changed"
    label = "PUE of heat to air" if two else "PUE"
    rows: list[Row] = [same("pue", label, "", how, DECIMAL_3, "")]
    if two:
        name, how = "pue_liquid", "likewise"
        rows.append(same(name, "PUE of heat to liquid", "", how, DECIMAL_3, ""))
    how = "every line's IT power x its PUE" if two else "IT power x PUE"
    name = "facility_power_kw"
    rows.append(same(name, "Facility power, at the meter", "kW", how, DECIMAL_1, _FLAG))
    if two:
        label, how, cells = "PUE of the whole", "facility power / IT power", (name, "it_power_kw")
        rows.append(ratio("pue_mean", label, cells, how=how, number=DECIMAL_3))
    return (*rows, *_typical_at_meter(book))


def _typical_at_meter(book: Book) -> tuple[Result, ...]:
    """Return the row of the typical power at the meter, where the plan or one PUE gives it."""
    label = "Typical power, at the meter"
    if book.has("energy_kw"):
        how = "every line's typical power x its PUE"
        return (same("energy_kw", label, "kW", how, DECIMAL_1, _TYPICAL_FLAG),)
    if book.number("typical_power_kw") is None or scope.two_pues(book.plan):
        return ()
    name, formula, how = "typical_meter_kw", "typical_power_kw*pue", "typical IT power x PUE"
    return (Result(name, label, "kW", formula, how, DECIMAL_1, flag=_TYPICAL_FLAG),)


def _energy(book: Book) -> tuple[Row, ...]:
    basis = book.plan.site.energy_basis
    rows = []
    for meter, kind, flag in (
        ("facility_power_kw", "maximum", _FLAG),
        *((meter.name, "typical", _TYPICAL_FLAG) for meter in _typical_at_meter(book)),
    ):
        how = f"{kind} power at the meter x {HOURS_PER_YEAR:,.0f} h"
        how += "; what the plan counts energy by" if kind == basis else ""
        formula = f"{meter}*{HOURS_PER_YEAR:.0f}/{_KWH_PER_MWH:.0f}"
        name, label = f"energy_{kind}_mwh", f"Energy per year at {kind} power"
        rows.append(Result(name, label, "MWh", formula, how, INTEGER, flag=flag))
    return tuple(rows)


def _heat(book: Book) -> tuple[Row, ...]:
    how = f"IT power x {BTU_PER_H_PER_KW:,.2f} BTU/h per kW; without pumps, fans and losses on site"
    rows: list[Row] = [
        same("heat_btu_per_h", "Heat", "BTU/h", how, INTEGER, _FLAG),
        Result(
            "cooling_tons",
            "Heat in tons of refrigeration",
            "tons",
            f"heat_btu_per_h/{BTU_PER_H_PER_TON:.0f}",
            f"1 ton of refrigeration is {BTU_PER_H_PER_TON:,.0f} BTU/h",
            DECIMAL_1,
            flag=_FLAG,
        ),
    ]
    rows.append(_to_air(book))
    if book.has("heat_liquid_kw"):
        name, how = "heat_liquid_kw", "every line's IT power x its share of heat to liquid"
        rows.append(same(name, "Heat to liquid", "kW", how, DECIMAL_1, _FLAG))
    return tuple(rows)


def _to_air(book: Book) -> Result:
    """Return the row of the heat to air, which is all of it where the plan knows no other."""
    label = "Heat to air"
    if book.has("heat_air_kw"):
        how = "IT power less what goes to liquid"
        return same("heat_air_kw", label, "kW", how, DECIMAL_1, _FLAG)
    how = "all of the IT power: no line says that some of its heat goes to liquid"
    power = same("it_power_kw", label, "kW", how, DECIMAL_1, _FLAG)
    return replace(power, name="air_heat_kw")


def _air(book: Book) -> tuple[Row, ...]:
    rise = "air_rise_degf"
    carried = f"{_to_air(book).name}*{BTU_PER_H_PER_KW!r}/({_BTU_PER_CFM_DEGF!r}*{rise})"
    label, unit = "Rise of the air's temperature", "°F"
    return (
        Input(rise, label, unit, AIR_RISE_DEGF, DECIMAL_1, _OWN, low=1.0, high=100.0),
        Result(
            "air_rise_k",
            f"{label}, metric",
            "K",
            f"{rise}/{_DEGF_PER_K!r}",
            "°F / 1.8",
            DECIMAL_1,
            (rise,),
        ),
        Result(
            "air_flow_cfm",
            "Air flow needed",
            "CFM",
            carried,
            "heat to air in BTU/h / (1.08 x rise in °F); 1.08 = 60 min/h x 0.075 lb/ft³ x 0.24 "
            "BTU/(lb °F): standard air, at sea level",
            INTEGER,
            (rise,),
            _FLAG,
        ),
        Result(
            "air_flow_m3_per_h",
            "Air flow needed, metric",
            "m³/h",
            f"air_flow_cfm*{_M3_PER_H_PER_CFM!r}",
            "1 CFM is 1.699 m³/h",
            INTEGER,
            ("air_flow_cfm",),
            _FLAG,
        ),
    )


def _liquid(book: Book) -> tuple[Row, ...]:
    if not book.has("heat_liquid_kw"):
        return ()
    rise = "liquid_rise_k"
    label, unit = "Rise of the liquid's temperature", "K"
    return (
        Input(rise, label, unit, LIQUID_RISE_K, DECIMAL_1, _OWN, low=1.0, high=60.0),
        Result(
            "liquid_flow_l_per_min",
            "Liquid flow needed",
            "l/min",
            f"heat_liquid_kw*60/({_KJ_PER_KG_K!r}*{rise})",
            "heat to liquid x 60 / (4.186 kJ/(kg K) x rise): water of 1 kg/l; glycol takes more",
            INTEGER,
            (rise,),
            _FLAG,
        ),
    )
