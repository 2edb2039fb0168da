"""Quantities and money: what is read, in which unit and currency, what is refused and shown."""

from __future__ import annotations

import math
import pickle
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import currency, units
from planner.currency import Currency
from planner.explore.explorer import AS_IT_IS
from planner.explore.problems import SingleExplorer
from planner.inputs import inputs_from_text, inputs_to_text
from planner.loader import load
from planner.report.edition import for_audience
from planner.report.exports import bill
from planner.schema.plan import Plan
from planner.units import Dimension, QuantityError, parse
from tests.world.commands import ran
from tests.world.files import BOOK, CATALOG, PROBLEM, changed
from tests.world.solved import solve


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
def test_quantities_are_read_in_their_unit(
    text: object, dimension: Dimension, expected: float
) -> None:
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
def test_wrong_quantities_are_refused_with_the_fix(
    value: object, dimension: Dimension, words: str
) -> None:
    with pytest.raises(QuantityError) as caught:
        parse(value, dimension)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)
    assert caught.value.fix  # what would be right is always said


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for dimension in (units.POWER, units.SHARE, units.TOKENS):
        try:
            value = parse(text, dimension)
        except QuantityError as error:
            assert error.fix
        else:
            assert math.isfinite(value)


# Money in another currency: read at its rate, rounded to its smallest unit, shown in one alone.


EURO = "exchange: {EUR: {usd: 2, on: 2026-11-20, source: ECB}}\ncurrency: EUR\n"
"""A rate that nothing else could be taken for."""
YEN = "exchange: {JPY: {usd: 0.0064, on: 2026-11-20, source: BOJ}}\ncurrency: JPY\n"


def _written(folder: Path, problem: str = PROBLEM, book: str = BOOK) -> Path:
    (folder / "own.yaml").write_text(CATALOG)
    (folder / "book.yaml").write_text(book)
    (folder / "problem.yaml").write_text(problem)
    return folder / "problem.yaml"


def test_amounts_are_read_at_the_rate_of_their_currency(tmp_path: Path) -> None:
    """A budget, a price of electricity, a list price and its support in euros."""
    problem = changed(PROBLEM, "60 MUSD", "30 MEUR")
    problem = changed(problem, "0.08 USD/kWh", "40 EUR/MWh")
    book = changed(BOOK, "300000 USD", "150 kEUR")
    inputs = load(_written(tmp_path, problem + EURO, book))
    assert inputs.problem.budget.capex_usd == 60e6
    assert inputs.problem.term is not None
    assert inputs.problem.term.electricity_usd_per_kwh == pytest.approx(0.08, rel=1e-15)
    assert inputs.prices["gpu_box"].list_usd == 300_000
    assert inputs.prices["gpu_box"].currency == "EUR"
    assert inputs.prices["quick_store"].currency is None
    again = inputs_from_text(inputs_to_text(inputs))
    assert again.problem.shown_in == Currency("EUR", 2.0, "2026-11-20", "ECB")
    assert again.prices["gpu_box"] == inputs.prices["gpu_box"]


def _same_purchase(one: Plan, other: Plan) -> bool:
    return [(x.sku, x.quantity) for x in one.lines] == [(x.sku, x.quantity) for x in other.lines]


def test_a_bill_foots_in_the_currency_it_is_shown_in(tmp_path: Path) -> None:
    """Every unit price is whole yen, and quantity times price is the line to the yen."""
    plan = solve(_written(tmp_path, PROBLEM + YEN))
    dollars = solve(_written(tmp_path))
    assert _same_purchase(plan, dollars)
    outside = for_audience(plan, "customer").shown_in
    assert (outside.code, outside.source, plan.shown_in.source) == ("JPY", "", "BOJ")
    made = bill(plan)
    assert made.currency == "JPY"
    lines = [line for line in made.lines if line.unit_net is not None]
    assert lines
    for line in lines:
        assert line.currency == "JPY"
        assert line.unit_net == round(line.unit_net or 0.0)
        assert line.extended_net == line.purchased * (line.unit_net or 0.0)
    assert made.totals.grand.extended_net == sum(line.extended_net or 0.0 for line in lines)
    assert plan.totals is not None
    assert plan.totals.capex_usd == pytest.approx((made.totals.grand.extended_net or 0) * 0.0064)
    assert dollars.totals is not None
    assert plan.totals.capex_usd == pytest.approx(dollars.totals.capex_usd, rel=1e-6)


def test_whole_units_where_there_are_no_cents() -> None:
    """Yen have none, dinars have three; halves go away from zero."""
    assert Currency("JPY", 0.5).rounded_usd(1.25) == 1.5
    assert Currency("KWD", 2.0).rounded_usd(2.001) == 2.002
    assert currency.USD.rounded_usd(2.675) == 2.68
    assert currency.USD.listed_usd(0.004) == 0.004  # a price per TB as stated
    assert Currency("EUR", 2.0).listed_usd(2.011) == 2.02
    won = Currency("KRW", 0.001)
    assert currency.short(won.convert(450_000)) == "450.00 MKRW"
    assert currency.short(won.convert(0.5)) == "500 KRW"
    assert currency.amount(won.convert(1234.5678)) == "1,234,568 KRW"
    assert [*map(currency.short, (1.5e6, 1.05e9))] == ["1.50 MUSD", "1.05 BUSD"]
    assert {each(None) for each in (currency.short, currency.bare, currency.amount)} == {
        "not known"
    }
    dinar = Currency("KWD", 1.0).convert(1234.5678)
    assert (currency.bare(dinar), currency.bare(dinar, None)) == ("1,235", "1,234.568")


@pytest.mark.parametrize(
    ("start", "end", "rate", "worth"),
    [
        (0, 4, 0.0, 4.0),
        (0.5, 2.25, 0.1, 0.5 / 1.1 + 1 / 1.21 + 0.25 / 1.331),
        (1, 3, 0.07, 1.07**-2 + 1.07**-3),
        (2, 2, 0.1, 0.0),
        (3, 1, 0.1, 0.0),
    ],
)
def test_an_annuity_is_paid_in_arrears(start: float, end: float, rate: float, worth: float) -> None:
    assert currency.discounted_years(start, end, rate) == pytest.approx(worth, rel=1e-14)


def test_units_of_money_have_a_code_and_a_rate() -> None:
    euro = Currency("EUR", 1.1)
    assert (euro.named("MUSD"), currency.USD.named("MUSD")) == ("MEUR", "MUSD")
    assert currency.in_usd("MEUR/kWh", {"EUR": euro}) == ("MUSD/kWh", 1.1)
    assert currency.in_usd("USD", {}) is None and currency.in_usd("GPU", {}) is None
    assert [*map(currency.code_of, ("5 EUR", "5 USD", "5 GPU", "5 kW"))] == [
        "EUR",
        None,
        None,
        None,
    ]
    assert currency.currency_among((1.0, euro.convert(2.2), None)) == euro


def test_arithmetic_keeps_the_currency_of_an_amount() -> None:
    """A sum or a multiple that lost its currency would be shown as so many USD."""
    euro = Currency("EUR", 2.0)
    one, other = euro.convert(100.0), euro.convert(50.0)
    for amount, value in (
        (one + other, 75.0), (sum((one, other)), 75.0), (one - other, 25.0), (0.0 - one, -50.0),
        (2 * one, 100.0), (one / 4, 12.5), (-one, -50.0), (abs(-one), 50.0),
    ):  # fmt: skip
        assert (currency.currency_of(amount), amount) == (euro, value)
    assert currency.currency_of(one / other) == currency.USD and one / other == 2.0
    assert pickle.loads(pickle.dumps(one)).currency == euro


@pytest.mark.parametrize("code", ["USD", "JPY", "KWD"])
def test_amounts_round_as_their_decimals_do(code: str) -> None:
    """However it is found fast: to 15 digits, then to the smallest unit, halves away from zero."""
    made, draw = Currency(code), Random(7)
    least = Decimal(1).scaleb(-made.decimals)
    near = [n * 10.0**-made.decimals / 2 + off for n in range(-40, 40) for off in (0.0, 1e-9)]
    drawn = [draw.uniform(-1, 1) * 10.0 ** draw.randint(-3, 14) for _ in range(2_000)]
    for amount in (*near, *drawn, *(round(each, 3) for each in drawn)):
        exact = Decimal(f"{amount:.15g}").quantize(least, rounding=ROUND_HALF_UP)
        assert made.rounded_usd(amount) == float(exact), amount


_AMOUNT = re.compile(r"(-?\d[\d,.]*)\s+([kMB]?)(USD|EUR)(?![A-Za-z])")
_SIZE = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9}


def _amounts(text: str, code: str) -> list[float]:
    found = _AMOUNT.findall(text)
    assert {each[2] for each in found} <= {code}
    return [float(value.replace(",", "").rstrip(".")) * _SIZE[size] for value, size, _ in found]


COMMANDS = (
    "solve problem.yaml --full",
    "size problem.yaml",
    "compare --near 1% problem.yaml",
    "explain problem.yaml --why-not quick_store",
    "compare problem.yaml --rules",
    "compare problem.yaml problem.yaml",
    "sweep --mode tornado problem.yaml -q",
    "sweep --mode frontier problem.yaml --against cost --points 3 -q",
    "sweep problem.yaml --vary budget.capex=x0.5,x1 -q",
    "solve problem.yaml --set jobs.0.gpus.min=500",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_screen_is_in_one_currency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """No dollar is on it, and every amount is half of what it is in USD."""
    monkeypatch.chdir(tmp_path)
    _written(tmp_path)
    dollars = ran(*command.split())
    _written(tmp_path, PROBLEM + EURO)
    euros = ran(*command.split())
    assert (euros.code, dollars.code) in ((0, 0), (3, 3))
    assert "USD" not in euros.out
    assert "$" not in euros.out
    before, after = _amounts(dollars.out, "USD"), _amounts(euros.out, "EUR")
    assert len(before) == len(after)
    for usd, eur in zip(before, after, strict=True):
        assert eur == pytest.approx(usd / 2, rel=0.02, abs=0.006)


def test_explore_shows_amounts_in_the_currency_of_the_problem(tmp_path: Path) -> None:
    """The page once showed the amounts in USD of a problem in euros."""
    path = _written(tmp_path, PROBLEM + EURO, BOOK)
    found = SingleExplorer(path, load(path)).answer(AS_IT_IS, "tab", 2)
    money = [tile["text"] for tile in found["tiles"] if tile["label"] in ("Capex", "TCO")]
    assert money
    assert all("EUR" in text and "USD" not in text for text in money)
    assert all("EUR" in section["text"] for section in found["sections"])
