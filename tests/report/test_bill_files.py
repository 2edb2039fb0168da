"""The bill for other programs: columns that stay, numbers of lines, values that survive."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from planner.commands.check import json_schema
from planner.loader import load
from planner.report.edition import Audience
from planner.report.exports import COLUMNS, bill, bill_columns, bill_csv, bill_json, defuse_formula
from planner.report.formats import join_words
from planner.schema.bill import Bill
from planner.schema.plan import Plan
from tests.bad_input.conftest import Answer, HallRunner, run, run_in_hall
from tests.report.hostile import opened
from tests.workbook.conftest import written
from tests.world.files import BOOK, CATALOG, PROBLEM, SOLVE
from tests.world.files import changed as edited
from tests.world.known_plans import CASES, plan
from tests.world.solved import solve
from tests.world.solved import solved as solved_once
from tests.world.tampering import put

COLUMNS_THAT_STAY = """
line section site period parent_line sku manufacturer part_number model description unit quantity
spares installed pack purchased currency unit_list discount unit_net extended_list extended_net
support_per_year subscription_per_year support_years price_source price_date price_confidence
lead_time lead_time_days unit_it_power_kw it_power_kw heat_btu_per_h unit_rack_units rack_units
racks unit_weight_kg weight_kg role notes unit_list_low unit_list_high
subscription_per_year_low subscription_per_year_high support_from_years
price_book price_valid_until category lifecycle min_order typical_power_kw
"""
NAMES = COLUMNS_THAT_STAY.split()
MONEY = NAMES[NAMES.index("currency") : NAMES.index("lead_time")]
MONEY += NAMES[NAMES.index("unit_list_low") : NAMES.index("category")]
Row = dict[str, str]


def rows(document: Plan, audience: Audience = "internal") -> list[Row]:
    text = bill_csv(bill(document, audience)).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def lines(document: Plan, audience: Audience = "internal") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(bill_json(bill(document, audience)))["lines"]
    return found


# Columns.


def test_columns_and_their_order_stay() -> None:
    """Programs rely on them: a new one goes to the end, and none is ever renamed."""
    assert list(COLUMNS) == NAMES
    assert list(bill_columns("none")) == [name for name in NAMES if name not in MONEY]


def test_the_schema_is_that_of_the_code_and_fits_the_file() -> None:
    schema = json.loads(json_schema("bill"))
    known = schema["$defs"]["BillLine"]
    assert list(known["properties"]) == NAMES
    assert [name for name in NAMES if name not in known["required"]] == MONEY
    for audience in ("internal", "customer", "partner"):
        content = bill_json(bill(plan(CASES["complete"]), audience))  # type: ignore[arg-type]
        Bill.model_validate_json(content)
        assert set(json.loads(content)) <= set(schema["properties"])


# Lines and numbers.


@pytest.mark.parametrize("name", sorted(CASES))
def test_lines_are_numbered_as_on_the_sheet(name: str) -> None:
    sheet = opened(written(plan(CASES[name])))["Quote"]
    shown = [str(row[0].value) for row in sheet.iter_rows()]
    shown = [label for label in shown if re.fullmatch(r"\d+(\.\d+)?", label)]
    found = [line for line in lines(plan(CASES[name])) if line["parent_line"] is None]
    own = [line["line"].removesuffix(".0") for line in found]
    assert own == shown


def test_sites_and_periods_keep_their_own_components() -> None:
    whole = plan(CASES["sync"])
    bundle = [line for line in whole.lines if "bundle" in (line.sku, line.parent)]
    second = [line.model_copy(update={"site": "second", "period": 1}) for line in bundle[:2]]
    found = lines(whole.model_copy(update={"lines": (*bundle, *second)}))
    assert [(line["line"], line["site"], line["period"]) for line in found] == [
        *(("1.0", "site", 0), ("1.1", "site", 0), ("1.2", "site", 0)),
        *(("2.0", "second", 1), ("2.1", "second", 1)),
    ]


# Values.


def test_every_value_of_the_shipped_example_survives() -> None:
    solved = solved_once("10MW")
    table, found = rows(solved), lines(solved)
    assert len(table) == len(found) == len(solved.lines)
    known = {line.sku: line for line in solved.lines}
    for row, line in zip(table, found, strict=True):
        source = known[line["sku"]]
        assert line["unit_list"] == source.unit_list_usd
        assert line["extended_net"] == source.extended_net_usd
        assert line["discount"] == source.discount
        assert line["purchased"] == source.purchased
        for name in NAMES:
            value = line[name]
            if isinstance(value, float):
                assert float(row[name]) == value, name
                assert "e" not in row[name].lower()
            elif isinstance(value, int):
                assert row[name] == str(value), name
            elif isinstance(value, str):
                assert row[name] == defuse_formula(value), name
            elif isinstance(value, list):
                assert row[name] == defuse_formula("; ".join(value)), name
            else:
                assert row[name] == "", name


def test_what_is_not_known_is_empty_and_never_zero() -> None:
    money = ("unit_list", "unit_net", "extended_list", "extended_net")
    unknown = {f"{name}_usd": None for name in money} | {"price": None, "it_power_kw": None}
    whole = plan(CASES["sync"])
    odd = whole.lines[0].model_copy(update=unknown)
    changed = whole.model_copy(update={"lines": (odd, *whole.lines[1:])})
    for name in (*money, "price_source", "it_power_kw"):
        assert rows(changed)[0][name] == "", name
        assert lines(changed)[0][name] is None, name


def test_a_figure_has_no_digits_that_are_noise() -> None:
    """Three units of 2.2 kW stood there as 6.6000000000000005 kW, in what is sent to customers."""
    whole = plan(CASES["minimal"])
    odd = whole.lines[0].model_copy(update={"it_power_kw": 3 * 2.2, "weight_kg": 31 * 0.098})
    noisy = whole.model_copy(update={"lines": (odd, *whole.lines[1:])})
    assert (rows(noisy)[0]["it_power_kw"], rows(noisy)[0]["weight_kg"]) == ("6.6", "3.038")
    assert (lines(noisy)[0]["it_power_kw"], lines(noisy)[0]["weight_kg"]) == (6.6, 3.038)


@pytest.mark.parametrize("name", sorted(CASES))
def test_totals_are_those_of_the_plan(name: str) -> None:
    whole = plan(CASES[name])
    sums = json.loads(bill_json(bill(whole)))["totals"]
    assert whole.totals is not None
    same = {
        "extended_net": whole.totals.capex_usd,
        "support_per_year": whole.totals.support_usd_per_year,
        "it_power_kw": whole.totals.it_power_kw,
        "rack_units": whole.totals.rack_units,
        "racks": whole.totals.racks,
        "weight_kg": whole.totals.weight_kg,
    }
    for key, value in same.items():
        if sums["grand"][key] is not None and value is not None:
            assert sums["grand"][key] == pytest.approx(value, rel=1e-12), key
    for section, usd in whole.totals.capex_by_section_usd.items():
        if sums["sections"][section]["extended_net"] is not None:
            assert sums["sections"][section]["extended_net"] == pytest.approx(usd, rel=1e-12)


# The bill as files: the same bytes again, CSV by the book, texts that no program runs.


def test_the_csv_is_rfc_4180_with_a_byte_order_mark() -> None:
    content = bill_csv(bill(plan(CASES["async"])))
    assert content.startswith(b"\xef\xbb\xbfline,section,")
    assert content.endswith(b"\r\n")
    records = content.removeprefix(b"\xef\xbb\xbf").decode().removesuffix("\r\n").split("\r\n")
    assert len(records) == 1 + len(plan(CASES["async"]).lines)
    assert "\n" not in "".join(records) and "\r" not in "".join(records)


@pytest.mark.parametrize(
    "number", ["0012", "1E5", "2026-11", "00965-0010", "1.10", "12345678901234"]
)
def test_part_numbers_are_quoted_text(number: str) -> None:
    whole = put(plan(CASES["minimal"]), ("lines", 0, "part_number"), number)
    content = bill_csv(bill(whole)).decode("utf-8-sig")
    assert f',"{number}",' in content
    assert rows(whole)[0]["part_number"] == number


# Formulas.

SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\u2212")
BEFORE = ("", " ", "\t", "\r", "\n", "\r\n", "\u00a0", "\u3000", "\u200b", "\ufeff", "'", '"')


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("before", BEFORE, ids=[repr(text) for text in BEFORE])
def test_a_cell_never_begins_like_a_formula(before: str, sign: str) -> None:
    shown = defuse_formula(f"{before}{sign}1+1")
    assert shown.startswith("'")
    after = defuse_formula(f"pack of 4;{before}{sign}1+1")  # where semicolons separate
    assert re.search(rf";[^;]*'{re.escape(sign)}", after)


# Terms of sale in the bill: life cycle, minimum order, how long prices hold.


def written_bill(tmp_path: Path) -> Path:
    head = "  - id: gpu_box\n"
    problem = PROBLEM + "consider: {lifecycle: [available, end_of_sale]}\n"
    (tmp_path / "problem.yaml").write_text(problem, "utf-8")
    sold = head + "    lifecycle: end_of_sale\n"
    (tmp_path / "own.yaml").write_text(edited(CATALOG, head, sold), "utf-8")
    price = edited(
        BOOK, "  quick_store:", '    valid_until: "2026-06-30"\n    min_order: 2\n  quick_store:'
    )
    (tmp_path / "book.yaml").write_text(price, "utf-8")
    return tmp_path / "problem.yaml"


def test_the_bill_tells_what_catalog_and_price_book_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1782777600")  # 2026-06-30
    inputs = load(written_bill(tmp_path))
    plan = solve(inputs)
    row = next(row for row in bill(plan).lines if row.sku == "gpu_box")
    assert (row.lifecycle, row.min_order) == ("end_of_sale", 2)
    assert (row.price_valid_until, row.price_book, row.category) == (
        "2026-06-30",
        "Own prices",
        "gpu_system",
    )
    assert row.unit_list_low is not None
    assert not [text for text in plan.warnings if "expired quotes" in text]
    other = next(row for row in bill(plan).lines if row.sku != "gpu_box")
    assert (other.lifecycle, other.min_order) == ("available", None)
    outside = next(row for row in bill(plan, "customer").lines if row.sku == "gpu_box")
    assert (outside.price_valid_until, outside.price_book) == (None, None)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1782864000")  # the day after
    late = solve(inputs)
    assert "expired quotes: Box 8 (until 2026-06-30)" in late.warnings


# Which files `planner solve` writes with --also and --audience, and that it writes all or none.


__all__ = ["run", "run_in_hall"]  # fixtures of the tests of the command line

BOTH = "--also bill.csv,bill.json"


def solve_bill(run_in_hall: HallRunner, options: str) -> Answer:
    return run_in_hall(f"{SOLVE} {options}")


def new(answer: Answer) -> list[str]:
    return sorted(answer.after - answer.before)


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ("", "xlsx, plan.json"),
        (f"{BOTH} --also bill.csv", "xlsx, plan.json, bill.csv, bill.json"),
        ("--audience customer", "customer.xlsx"),
        (f"--audience customer {BOTH}", "customer.xlsx, customer.bill.csv, customer.bill.json"),
        ("--audience partner --also bill.csv", "partner.xlsx, partner.bill.csv"),
    ],
)
def test_files_and_the_one_message_that_names_them(
    options: str, files: str, run_in_hall: HallRunner
) -> None:
    answer, names = solve_bill(run_in_hall, options), [f"problem.{x}" for x in files.split(", ")]
    assert answer.exit_code == 0
    assert new(answer) == sorted(names)
    assert answer.err == f"wrote {join_words(names)}\n"


def test_a_given_date_is_that_of_the_workbook(
    run_in_hall: HallRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1770000000")
    solve_bill(run_in_hall, "-q --audience customer")
    with zipfile.ZipFile(tmp_path / "problem.customer.xlsx") as archive:
        assert b"2026-02-02" in archive.read("docProps/core.xml")
