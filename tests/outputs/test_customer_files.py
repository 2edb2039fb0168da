"""What leaves the house: every part of every file is searched for money and for what is internal.

By default the customer's edition here is the one without any price.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from planner import api, shipped
from planner.cli import app
from planner.loader.market import load_catalogs, load_prices
from planner.outputs import plan_json
from planner.outputs.audience import Audience, Prices, for_audience
from planner.outputs.bill import bill, csv_bytes, json_bytes
from planner.schema.base import PlanModel
from planner.schema.plan import Assumption, IdleUnits, NotConsidered, Plan, PriceNote
from tests.outputs.leaks import (
    WORDS,
    kept_numbers,
    leaks,
    money,
    opened,
    parts,
    patterns,
    spellings,
)
from tests.workbook.conftest import written
from tests.world.commands import ran
from tests.world.gear_plans import plan
from tests.world.setups import CASES

PROBLEM = Path(__file__).resolve().parents[2] / "problems" / "10MW.yaml"
TERM = (
    "term={years: 4.5, electricity: 0.08123 USD/kWh, discount_rate: 7.123 %, "
    "colocation: 123.45 USD/kW/month}"
)
SOLVED = {
    "goodput": ("description=A hall for at most 612.3 MUSD", "budget={capex: 612.3456 MUSD}", TERM),
    "tco": ("objective={minimize: tco}", "targets={min_gpus: 512}", "budget={}", TERM),
}
NAMES = [*sorted(CASES), "rates", *SOLVED]


def own_book(path: Path) -> None:
    """Write a price book in which every amount tells itself apart, with discounts and margins."""
    prices = {}
    for number, (name, listed) in enumerate(shipped_prices().items()):
        own = round(listed * (1 + number / 977) + 12.34 + number * 1.07, 2)
        note = f"Bought at {own * 0.87654:,.2f} USD, a margin of {12.345 + number / 100:.3f} %"
        prices[name] = {
            "list": f"{own} USD",
            "date": "2026-03",
            "source": "sheet",
            "confidence": "medium",
            "support_per_year": "7.891 %",
            "lead_time": "12 weeks",
            "note": note,
        }
    book = {
        "price_book": "Confidential prices",
        "sources": {"sheet": {"title": "Distributor sheet 4711, budgetary"}},
        "prices": prices,
        "discounts": [
            {"category": "gpu_system", "discount": "12.345 %"},
            {"category": "storage", "discount": "23.456 %"},
            {"category": "switch", "discount": "34.567 %"},
        ],
    }
    path.write_text(yaml.safe_dump(book), encoding="utf-8")


def shipped_prices() -> dict[str, float]:
    items = load_catalogs(list(shipped.catalog_files().values())).items
    prices = load_prices(list(shipped.price_files().values()), items).prices
    return {name: price.list_usd for name, price in prices.items()}


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plan]:
    book = tmp_path_factory.mktemp("prices") / "book.yaml"
    own_book(book)
    made = {name: plan(setup) for name, setup in CASES.items()}
    made["rates"] = plan(
        replace(CASES["complete"], rate=0.07123, colocation=123.456, electricity=0.08123)
    )
    for name, settings in SOLVED.items():
        made[name] = api.solve(PROBLEM, settings=(f"prices=['{book}']", *settings))
    return made


KINDS = ("x.xlsx", "x.bill.csv", "x.bill.json")


def file(document: Plan, kind: str, audience: Audience, prices: Prices | None = None) -> bytes:
    """Return a file of an edition; of a customer's by default the one without prices."""
    if audience == "customer":
        prices = prices or "none"
    if kind == "x.xlsx":
        return written(document, audience, prices)
    listed = bill(document, audience, prices)
    return (csv_bytes if kind.endswith("csv") else json_bytes)(listed, prices)


def files(document: Plan, audience: Audience, prices: Prices | None = None) -> dict[str, bytes]:
    """Return every file of an edition."""
    return {kind: file(document, kind, audience, prices) for kind in KINDS}


def found_in(document: Plan, name: str, content: bytes) -> list[tuple[str, str]]:
    shown = for_audience(document, "customer", "none")
    amounts = patterns(money(document), kept_numbers(shown))
    assert len(amounts) > 20
    return leaks(name, content, amounts)


def summary(found: list[tuple[str, str]]) -> list[str]:
    """Return a line per part that leaks: how often, and the first of it."""
    texts = []
    for part, entries in groupby(found, key=lambda entry: entry[0]):
        leaking = [what for _, what in entries]
        texts.append(f"{part}: {len(leaking)}, such as {'; '.join(leaking[:3])}")
    return texts


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", NAMES)
def test_the_customers_plan_has_no_money(name: str, plans: dict[str, Plan]) -> None:
    shown = for_audience(plans[name], "customer", "none").model_dump(exclude_defaults=True)
    text = "\n".join(_strings(shown)).encode()
    assert summary(found_in(plans[name], "x.txt", text)) == []


def _strings(part: object) -> list[str]:
    """Return every value in nested data as text; keys are the program's own words."""
    if isinstance(part, dict):
        return [text for value in part.values() for text in _strings(value)]
    if isinstance(part, (list, tuple)):
        return [text for value in part for text in _strings(value)]
    return [repr(part) if isinstance(part, float) else str(part)]


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["x.bill.csv", "x.bill.json"])
def test_the_customers_bill_has_no_money(name: str, kind: str, plans: dict[str, Plan]) -> None:
    content = file(plans[name], kind, "customer")
    assert summary(found_in(plans[name], kind, content)) == []


def test_no_further_file_that_the_command_writes_for_a_customer_has_money(tmp_path: Path) -> None:
    """With every switch that it has: a new file is searched, too; the appendix is refused."""
    own_book(tmp_path / "book.yaml")
    problem, prices = shipped.problem_files()["enterprise_1MW"], f"prices=['{tmp_path}/book.yaml']"
    switches = [each.opts[0] for each in get_command(app).commands["solve"].params
                if getattr(each, "is_flag", False) and each.name != "appendix"]  # fmt: skip
    folder = tmp_path / "out"
    edition = ("--audience", "customer", "--prices", "none", "-o", str(folder))
    done = ran("solve", str(problem), "--set", prices, *switches, *edition)
    assert done.code == 0, done.err
    amounts = {f"{amount:.2f}" for amount in money(api.solve(problem, settings=(prices,)))}
    told = {amount for amount in amounts if not amount.endswith("0")}
    further = {path for path in folder.iterdir() if path.suffix != ".xlsx"}
    assert len(told) > 20 and len(further) > 9
    for path in further:
        assert path.name.startswith("enterprise_1MW.customer.")
        text = path.read_text("utf-8")
        assert not WORDS.search(text), path.name
        assert not any(amount in text for amount in told), path.name


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", NAMES)
def test_the_customers_workbook_has_no_money(name: str, plans: dict[str, Plan]) -> None:
    content = file(plans[name], "x.xlsx", "customer")
    assert summary(found_in(plans[name], "x.xlsx", content)) == []


def test_the_customers_workbook_packs_nothing(plans: dict[str, Plan]) -> None:
    """What is compressed cannot be searched, so nothing in it may be."""
    content = file(plans["goodput"], "x.xlsx", "customer")
    packed = re.compile(r"[A-Za-z0-9+/=]{400,}")
    assert [part for part, text in parts("x.xlsx", content) if packed.search(text)] == []


@pytest.mark.parametrize("kind", ["x.xlsx", "x.bill.csv", "x.bill.json"])
def test_the_search_finds_the_money_of_the_internal_edition(
    kind: str, plans: dict[str, Plan]
) -> None:
    """The control: where there is money, the same search finds words and every line's amounts."""
    document = plans["goodput"]
    found = {what for _, what in found_in(document, kind, file(document, kind, "internal"))}
    searched = patterns(money(document), kept_numbers(for_audience(document, "customer", "none")))
    stated = money_of_lines(document)
    told_apart = {amount for amount in stated if searched.keys() & set(spellings(amount))}
    assert len(told_apart) > max(50, 0.9 * len(stated))
    missed = {
        amount
        for amount in told_apart
        if not any(f"amount {text}" in found for text in spellings(amount))
    }
    assert missed == set()
    assert len([what for what in found if not what.startswith("amount")]) > 10


def money_of_lines(document: Plan) -> set[float]:
    """Return what the lines of a bill cost, apiece, in all and for support, and their discounts."""
    amounts = {
        amount
        for line in document.lines
        for amount in (
            line.unit_list_usd, line.discount, line.unit_net_usd,
            line.extended_list_usd, line.extended_net_usd, line.support_usd_per_year,
        )
    }  # fmt: skip
    return {amount for amount in amounts if amount}


@pytest.mark.parametrize("text", ["12.35 %", "12,345.7 k", "12.346 million", "12 345 678.90"])
def test_the_search_knows_the_usual_spellings(text: str) -> None:
    assert leaks("x.txt", f"about {text} and".encode(), patterns({12_345_678.9, 0.12345}, set()))


def test_the_hall_of_these_tests_has_money_to_hide(plans: dict[str, Plan]) -> None:
    document = plans["goodput"]
    assert "612.3 MUSD" in (document.description or "")
    assert any("a margin of" in warning for warning in document.warnings)
    assert b"a margin of" in plan_json.to_bytes(document)
    assert {line.discount for line in document.lines} >= {0.12345, 0.23456, 0.34567}
    assert plans["tco"].objective.unit == "USD"


# What was planted in every free text finds no way out.

PLANTED = (
    "our internal guess", "CONFIDENTIAL, do not show", "beats the rival", "lost on price",
    "an estimate", "a broker's rumour", "low confidence", "overpriced junk", "optimal by HiGHS",
    "gap 0.3 %", "/home/sales/deals/hall.yaml", "--set budget.capex", "https://intra.example/deal",
    "a margin of 31 %", "negotiate to 9 MUSD",
)  # fmt: skip
MARK = "zqx"
"""What is searched for: a text that is cut short or reworded still has it."""

NAMES_OF_THINGS = frozenset(
    {
        "sku", "parent", "site", "gpu_type", "gpu_types", "storage_family", "storage_families",
        "switch_sku", "tool", "input_sha256", "critical_skus", "product", "id", "serves",
    }
)  # fmt: skip
"""Fields that hold identifiers, by which parts of a plan find one another."""


def planted(part: object, text: str, found: set[str], where: str = "plan") -> object:
    """Return a part of a plan with a text in every field that may hold any; note which."""
    if isinstance(part, PlanModel):
        changes: dict[str, object] = {}
        for name, field in type(part).model_fields.items():
            value, place = getattr(part, name), f"{type(part).__name__}.{name}"
            kind = str(field.annotation)
            # Those that may leave are tried in test_notes_that_may_leave_are_in_every_edition.
            free = name not in NAMES_OF_THINGS and name != "public_notes" and "Literal" not in kind
            if (free and field.annotation is str) or (kind == "str | None" and free):
                changes[name] = f"{MARK} {text} {place}"
                found.add(place)
            elif free and kind == "tuple[str, ...]":
                changes[name] = (*value, f"{MARK} {text} {place}")
                found.add(place)
            else:
                changes[name] = planted(value, text, found, place)
        return part.model_copy(update=changes)
    if isinstance(part, tuple):
        return tuple(planted(entry, text, found, where) for entry in part)
    return part


@pytest.fixture(scope="module")
def whole() -> Plan:
    """Return a plan that has something of every part whose texts people write."""
    document = plan(CASES["complete"])
    first = document.lines[0]
    price = first.price or PriceNote(source="s", date="2026", confidence="low", book="b")
    lines = (first.model_copy(update={"price": price}), *document.lines[1:])
    aside = (NotConsidered(sku="other", reason="no price"),)
    assumed = (Assumption(name="mfu", label="MFU", value=0.4, unit="share", source="a paper"),)
    idle = (IdleUnits(sku=first.sku, units=1, reason="r", fix="f"),)
    return document.model_copy(
        update={"lines": lines, "not_considered": aside, "assumptions": assumed, "idle": idle}
    )


@pytest.mark.exhaustive(keep=4, most=15)
@pytest.mark.parametrize("text", PLANTED)
@pytest.mark.parametrize(
    ("audience", "prices"), [("partner", None), ("customer", "list+net"), ("customer", "none")]
)
def test_nothing_planted_in_a_text_leaves_the_house(
    text: str, audience: Audience, prices: Prices | None, whole: Plan
) -> None:
    found: set[str] = set()
    document = planted(whole, text, found)
    assert isinstance(document, Plan)
    assert {"Plan.description", "Plan.warnings", "Line.notes", "Line.description", "Line.model",
            "PriceNote.source", "PriceNote.note", "Assumption.source", "NotConsidered.reason",
            "Provenance.problem_file", "LimitReport.source", "JobPlan.name"} <= found  # fmt: skip
    for name, content in files(document, audience, prices).items():
        shown = [part for part, said in parts(name, content) if MARK in said]
        assert shown == [], f"{name}: {text}"


@pytest.mark.parametrize("audience", ["internal", "partner", "customer"])
def test_notes_that_may_leave_are_in_every_edition(audience: Audience, whole: Plan) -> None:
    """Of the whole offer, and of a line, in workbook and bill; what is beside them stays inside."""
    first = whole.lines[0].model_copy(
        update={"public_notes": (f"{MARK} in two lots",), "notes": ("our internal guess",)}
    )
    document = whole.model_copy(
        update={"lines": (first, *whole.lines[1:]), "public_notes": (f"{MARK} ex works",)}
    )
    for name, content in files(document, audience, None).items():
        said = " ".join(text for _, text in parts(name, content))
        assert f"{MARK} in two lots" in said, name
        assert (f"{MARK} ex works" in said) is name.endswith(".xlsx")
        assert ("our internal guess" in said) is (audience == "internal")


def test_the_search_finds_what_is_planted_inside(whole: Plan) -> None:
    """The control: inside, the same search finds the planted text on sheet after sheet."""
    document = planted(whole, PLANTED[0], set())
    assert isinstance(document, Plan)
    shown = files(document, "internal")
    sheets = {part for part, said in parts("x.xlsx", shown["x.xlsx"]) if MARK in said}
    assert {"sheet Summary", "sheet BOM", "sheet Line notes", "sheet Notes"} <= sheets
    for name in ("x.bill.csv", "x.bill.json"):
        assert any(MARK in said for _, said in parts(name, shown[name]))


OF_THE_MAKING = re.compile(
    r"\b(?:optim\w+|solvers?|highs|proven|proof|gaps?|planner|ya?ml|solved|estimat\w+|audit\w*|"
    r"rivals?|price books?|confidence|sources?|warnings?|budget|margin|tco|opex)\b",
    re.IGNORECASE,
)


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("name", [*sorted(CASES), "goodput"])
@pytest.mark.parametrize("audience", ["customer", "partner"])
def test_no_word_of_the_making_stands_outside(
    name: str, audience: Audience, plans: dict[str, Plan]
) -> None:
    content = file(plans[name], "x.xlsx", audience, None if audience == "partner" else "net")
    texts = {
        str(cell.value)
        for sheet in opened(content, cells_alone=True)
        for row in sheet.iter_rows()
        for cell in row
        if isinstance(cell.value, str)
    }
    # The names by which a job says who has the optimizer's state are its own.
    said = {text for text in texts if OF_THE_MAKING.search(text.replace("optimizer", ""))}
    assert said == set()
