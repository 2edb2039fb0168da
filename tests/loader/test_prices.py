"""Prices built from their parts, known answers by hand; what is refused, and how old is old."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import shipped
from planner.errors import InputError
from planner.inputs import Inputs, inputs_from_text, inputs_to_text
from planner.loader import load
from planner.loader.catalogs import load_catalogs
from planner.loader.prices import load_prices
from planner.schema.prices import Price, YearlySupport
from tests.world.files import FILES, PROBLEM, changed
from tests.world.solved import solve

STORE = "    family: quick_fs\n"
MEDIA = (
    "    media: [{type: tlc, raw: 100 TB, drives: 10 x 10 TB, source: sheet, confidence: high}]\n"
)
RATES = """\
rates:
  flash: {label: flash, usd: 700 USD, low: 300 USD, high: 2000 USD, per: raw_tb, flash: tlc,
          date: "2026-08", source: index, confidence: medium}
  server: {label: server, usd: 20000 USD, low: 15000 USD, high: 30000 USD,
           date: "2026-09", source: index, confidence: high}
  raw_licence: {label: licence, usd: 10 USD, low: 5 USD, high: 20 USD, per: raw_tb, every: year,
                date: "2026", source: quote, confidence: low}
  licence: {label: licence, usd: 50 USD, low: 25 USD, high: 100 USD, per: usable_tb,
            date: "2025-03", source: quote, confidence: low}
  used: {label: use, usd: 6 USD, low: 3 USD, high: 9 USD, per: used_tb, every: year,
         date: "2026-11-01", source: quote, confidence: low}
"""
STATED = """    list: 60000 USD
    date: "2026-01"
    source: quote
    confidence: high
"""


def write(folder: Path, prices: str, *, media: str = MEDIA, rates: str = RATES) -> Path:
    """Write the small problem with a price book whose quick_store has other lines."""
    files = dict(FILES)
    book = files["book.yaml"]
    start = book.index("  quick_store:\n") + len("  quick_store:\n")
    end = book.index("\n  slow_store", start)
    assert "index:" not in book
    book = book[:start] + prices.rstrip("\n") + book[end:]
    book = book.replace("sources:\n", "sources:\n  index: {title: An index}\n", 1)
    files["book.yaml"] = book.replace("prices:\n", rates + "prices:\n", 1)
    own = files["own.yaml"]
    place = own.index(STORE) + len(STORE)
    files["own.yaml"] = own[:place] + media + own[place:]
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "problem.yaml"


def price_of(problem: Path) -> Price:
    return load(problem).prices["quick_store"]


def test_a_price_is_the_sum_of_its_parts(tmp_path: Path) -> None:
    rates = "{rate: flash}, {rate: server, count: 2}, {rate: licence}, {rate: raw_licence}"
    problem = write(tmp_path, f"    parts: [{rates}, {{rate: used}}]\n")
    usable = load_catalogs([tmp_path / "own.yaml"]).items["quick_store"].provides.usable
    assert usable is not None
    tb = usable.value
    price = price_of(problem)
    assert price.list_usd == pytest.approx(100 * 700 + 2 * 20_000 + 50 * tb)
    assert price.range_usd == (
        pytest.approx(100 * 300 + 2 * 15_000 + 25 * tb),
        pytest.approx(100 * 2000 + 2 * 30_000 + 100 * tb),
    )
    assert price.per_year_usd == pytest.approx(100 * 10 + 6 * tb)
    assert price.per_year_range_usd == (
        pytest.approx(100 * 5 + 3 * tb),
        pytest.approx(100 * 20 + 9 * tb),
    )
    assert (price.date, price.source, price.confidence) == ("2025-03", "index", "low")
    assert price.note is not None
    assert "100 TB flash at 700 USD (70,000 USD)" in price.note
    again = inputs_from_text(inputs_to_text(load(problem))).prices["quick_store"]
    assert again == price


@pytest.mark.parametrize(
    ("prices", "media", "wrong"),
    [
        ("    parts: [{rate: flush}]\n", MEDIA, r"no rate 'flush'; did you mean 'flash'"),
        ("    parts: [{rate: flash}]\n", "", r"'quick_store': the catalog states no tlc drives"),
        ("    parts: [{rate: flash}]\n" + STATED, MEDIA, "list follows from the parts"),
        (STATED + "    low: 70000 USD\n", MEDIA, "a price lies between its low and its high"),
        (STATED + "    high: 50000 USD\n", MEDIA, "a price lies between its low and its high"),
        ("    parts: [{rate: flash, count: 0}]\n", MEDIA, "out of range"),
    ],
)
def test_what_is_refused(tmp_path: Path, prices: str, media: str, wrong: str) -> None:
    problem = write(tmp_path, prices, media=media)
    with pytest.raises(InputError, match=wrong) as found:
        load(problem)
    assert found.value.findings[0].file is not None
    assert found.value.findings[0].file.endswith("book.yaml")
    assert found.value.findings[0].line is not None


def test_a_later_book_changes_a_rate(tmp_path: Path) -> None:
    write(tmp_path, "    parts: [{rate: flash}]\n")
    own = """\
price_book: What we pay
sources: {mine: {title: Our quote}}
rates:
  flash: {label: flash, usd: 400 USD, low: 400 USD, high: 400 USD, per: raw_tb, flash: tlc,
          date: "2026-11", source: mine, confidence: high}
"""
    (tmp_path / "mine.yaml").write_text(own, encoding="utf-8")
    items = load_catalogs([tmp_path / "own.yaml"]).items
    prices = load_prices([tmp_path / "book.yaml", tmp_path / "mine.yaml"], items)
    price = prices.prices["quick_store"]
    assert (price.list_usd, price.range_usd) == (40_000, (40_000, 40_000))
    assert prices.sources["quick_store"][price.source].title == "Our quote"


def test_ranges_follow_the_confidence_where_a_price_says_none(tmp_path: Path) -> None:
    problem = write(tmp_path, STATED, rates=RATES + "ranges: {high: 10 %}\n")
    assert price_of(problem).range_usd == (54_000, 66_000)
    problem = write(
        tmp_path, STATED + "    low: 59000 USD\n", rates=RATES + "ranges: {high: 10 %}\n"
    )
    assert price_of(problem).range_usd == (59_000, 66_000)
    assert price_of(write(tmp_path, STATED)).range_usd == (60_000, 60_000)


# A price over that of an earlier book: which terms it keeps, and that this is shown.


LAID = 'list: 310000 USD, date: "2026-10", source: ours, confidence: high'
BOOK = changed(
    FILES["book.yaml"],
    "    support_per_year: 8 %\n",
    "    support_per_year: 8 %\n    support_included_years: 1\n    lead_time: 12 weeks\n"
    "    pack: 2\n    min_order: 4\n    stock: 90\n    per_year: 700 USD\n",
)


def laid(tmp_path: Path, *entries: str, book: str = BOOK) -> Path:
    """Return a problem whose price of a GPU system is laid over by books of ours."""
    names = [f"ours_{number}.yaml" for number in range(len(entries))]
    for name, entry in zip(names, entries, strict=True):
        text = f"price_book: {name[:-5]}\nsources: {{ours: {{title: list of {name}}}}}\n"
        (tmp_path / name).write_text(f"{text}prices:\n  gpu_box: {{{LAID}{entry}}}\n", "utf-8")
    books = "".join(f"  - {name}\n" for name in ("book.yaml", *names))
    problem = changed(PROBLEM, "  - book.yaml\n", books)
    for name, text in {**FILES, "book.yaml": book, "problem.yaml": problem}.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path / "problem.yaml"


def loaded(tmp_path: Path, *entries: str, book: str = BOOK) -> Inputs:
    return load(laid(tmp_path, *entries, book=book))


def test_terms_that_are_not_stated_are_kept(tmp_path: Path) -> None:
    inputs = loaded(tmp_path, "")
    price = inputs.prices["gpu_box"]
    assert price.list_usd == 310_000.0
    assert price.support_per_year == YearlySupport.model_construct(share=0.08)
    assert (price.support_included_years, price.lead_time) == (1.0, "12 weeks")
    assert (price.pack, price.min_order, price.stock, price.per_year_usd) == (2, 4, 90, 700.0)
    sources = inputs.price_sources["gpu_box"]
    assert sources[str(price.support_source)].title == "Quote of 2026"
    assert sources[price.source].title == "list of ours_0.yaml"


@pytest.mark.parametrize(
    ("entry", "usd_per_year"),
    [
        ("", 24_800.0),
        (", support_per_year: 10 %", 31_000.0),
        (", support_per_year: 900 USD", 900.0),
        (", support_per_year: none", 0.0),
        (", support_per_year: 0 %", 0.0),
        (", support_included_years: 4", 0.0),
    ],
)
def test_stated_support_takes_the_place_of_the_one_below(
    entry: str, usd_per_year: float, tmp_path: Path
) -> None:
    path = laid(tmp_path, entry)
    price = load(path).prices["gpu_box"]
    assert price.support_usd_per_year(price.list_usd) == pytest.approx(usd_per_year)
    assert price.lead_time == "12 weeks"
    assert solve(path, explain=False).status == "optimal"


def test_subscription_of_parts_below_is_kept(tmp_path: Path) -> None:
    built = load(shipped.problem_files()["10MW"]).prices["wekapod_nitro_155"]
    assert built.parts and built.per_year_usd
    book = tmp_path / "ours.yaml"
    sources = "sources: {ours: {title: our list}}"
    entry = f"prices:\n  wekapod_nitro_155: {{{LAID}}}\n"
    book.write_text(f"price_book: Ours\n{sources}\n{entry}", "utf-8")
    path = tmp_path / "10MW.yaml"
    path.write_bytes(shipped.problem_files()["10MW"].read_bytes())
    inputs = load(path, settings=("prices=[estimates_2026, ours.yaml]",))
    assert inputs.prices["wekapod_nitro_155"].per_year_usd == built.per_year_usd
