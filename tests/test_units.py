"""Quantities: what is read, in which unit, and what is refused with which advice."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import units
from planner.units import Dimension, QuantityError, parse


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("10 MW", units.POWER, 10_000.0),
        ("700 W", units.POWER, 0.7),
        ("273 GB/s", units.BANDWIDTH, 273.0),
        ("1 GiB/s", units.BANDWIDTH, 1.073741824),
        ("3.6 TB/h", units.BANDWIDTH, 1.0),
        ("13.8 TB", units.SIZE, 13_800.0),
        ("12.5 TiB", units.SIZE, 13_743.8953472),
        ("2.5 PB", units.CAPACITY, 2500.0),
        ("250 ms", units.TIME, 0.25),
        ("10 min", units.TIME, 600.0),
        ("1 day", units.TIME, 86_400.0),
        ("2 weeks", units.DAYS, 14.0),
        ("1 month", units.TIME, 2_628_000.0),
        ("1 year", units.TIME, 31_536_000.0),
        ("450 MUSD", units.MONEY, 450e6),
        ("1.2 BUSD", units.MONEY, 1.2e9),
        ("99 kUSD", units.MONEY, 99_000.0),
        ("80 USD/MWh", units.ENERGY_PRICE, 0.08),
        ("0.08 USD/kW/h", units.ENERGY_PRICE, 0.08),
        ("2208 USD/kW/year", units.POWER_PRICE, 184.0),
        ("2 U", units.RACK_UNITS, 2.0),
        ("1.4 t", units.WEIGHT, 1400.0),
        ("2 ft", units.LENGTH, 0.6096),
        ("60 cm", units.LENGTH, 0.6),
        ("0.8 Tb/s", units.LINK_SPEED, 800.0),
        ("100 lb", units.WEIGHT, 45.359237),
        ("2.25 PFLOP/s", units.COMPUTE, 2250.0),
        ("989 TFLOPS", units.COMPUTE, 989.0),
        ("1.2 PB/day", units.WRITE_VOLUME, 1200.0),
        ("1 GB/s", units.WRITE_VOLUME, 86.4),
        ("3412.14 BTU/h", units.POWER, 1.0),
        ("10 %", units.SHARE, 0.1),
        ("2.5 percent", units.SHARE, 0.025),
        ("0.1", units.SHARE, 0.1),
        (0.1, units.SHARE, 0.1),
        (1, units.SHARE, 1.0),
        ("1.008 T", units.PARAMETERS, 1.008e12),
        ("70 B", units.PARAMETERS, 70e9),
        ("500 k", units.TOKENS, 500e3),
        ("1000000", units.TOKENS, 1e6),
        (15_000_000_000_000, units.TOKENS, 15e12),
        ("  1e3   kW ", units.POWER, 1000.0),
        ("+.5 kW", units.POWER, 0.5),
        ("-3 kW", units.POWER, -3.0),
    ],
)
def test_read(text: object, dimension: Dimension, expected: float) -> None:
    assert parse(text, dimension) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("value", "dimension", "words"),
    [
        (10, units.POWER, "10 has no unit"),
        ("10 MB", units.POWER, "'MB' in '10 MB' is not a unit of power"),
        ("10 GB/s", units.SIZE, "is not a unit of data size"),
        ("10 mw", units.POWER, "'mw' in '10 mw' is not a unit of power"),
        ("10 kW*h", units.POWER, "is not a unit of power"),
        ("10 __import__", units.POWER, "is not a unit of power"),
        ("ten MW", units.POWER, "cannot read 'ten MW'"),
        ("", units.POWER, "cannot read"),
        ("1,000 kW", units.POWER, "a comma in '1,000 kW'"),
        ("400 Gb/s", units.BANDWIDTH, "'Gb/s' in '400 Gb/s' is in bits"),
        ("5 EUR", units.MONEY, "no rate of EUR is known"),
        ("5 XXQ", units.MONEY, "'XXQ' in '5 XXQ' is not a unit of money"),
        ("10 kg", units.SHARE, "'kg' in '10 kg' does not fit a share"),
        ("10 %", units.TOKENS, "does not fit a number of tokens"),
        (405, units.PARAMETERS, "405 has no unit"),
        (" 70.5 ", units.PARAMETERS, "' 70.5 ' has no unit"),
        (999_999, units.TOKENS, "999999 has no unit"),
        ("3 k", units.NUMBER, "does not fit a number"),
        (True, units.SHARE, "share, found"),
        (None, units.POWER, "power, found nothing"),
        ({"a": 1}, units.POWER, "found a mapping"),
        ((1, 2), units.POWER, "power, found"),
        (math.nan, units.SHARE, "not a finite, sensible number"),
        (10**400, units.PARAMETERS, "not a finite, sensible number"),
        ("1e400 kW", units.POWER, "not a finite, sensible number"),
        ("nan kW", units.POWER, "cannot read"),
        ("9" * 500 + " W", units.POWER, "..."),
    ],
)
def test_refused(value: object, dimension: Dimension, words: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse(value, dimension)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)
    assert caught.value.fix  # what would be right is always said


@pytest.mark.parametrize(
    ("number", "dimension", "likely"),
    [
        ("400 Gb/s", units.BANDWIDTH, "'50 GB/s' if bits are meant"),
        (405, units.PARAMETERS, "405 B"),
        (1.008, units.PARAMETERS, "1.008 B"),
        (70_000, units.PARAMETERS, "70000 M"),
        (15, units.TOKENS, "15 T"),
        (366, units.TOKENS, "366 B"),
        (300_000, units.TOKENS, "300000 M"),
    ],
)
def test_bare_count_proposes_the_likely_unit(
    number: float | str, dimension: Dimension, likely: str
) -> None:
    with pytest.raises(QuantityError) as caught:
        parse(number, dimension)
    assert likely in caught.value.fix


@given(st.floats(1e-6, 1e6).map(lambda x: float(f"{x:.12g}")))
def test_what_is_written_is_what_is_read(number: float) -> None:
    assert parse(f"{number!r} kW", units.POWER) == number
    assert parse(f"{number!r} MW", units.POWER) == pytest.approx(1000 * number, rel=1e-14)
    assert parse(number, units.NUMBER) == number


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for dimension in (units.POWER, units.SHARE, units.TOKENS):
        try:
            value = parse(text, dimension)
        except QuantityError as error:
            assert error.fix
        else:
            assert math.isfinite(value)
