"""A price over that of an earlier book: which terms it keeps, and that this is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import shipped
from planner.inputs import Inputs
from planner.loader import load
from planner.schema.prices import SupportMoney, SupportShare
from tests.world.files import FILES, PROBLEM, changed
from tests.world.solved import solve

STATED = 'list: 310000 USD, date: "2026-10", source: ours, confidence: high'
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
        (tmp_path / name).write_text(f"{text}prices:\n  gpu_box: {{{STATED}{entry}}}\n", "utf-8")
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
    assert price.support_per_year == SupportShare.model_construct(share=0.08)
    assert (price.support_included_years, price.lead_time) == (1.0, "12 weeks")
    assert (price.pack, price.min_order, price.stock, price.per_year_usd) == (2, 4, 90, 700.0)
    sources = inputs.price_sources["gpu_box"]
    assert sources[str(price.support_source)].title == "Quote of 2026"
    assert sources[price.source].title == "list of ours_0.yaml"


def test_plan_names_the_terms_that_are_kept(tmp_path: Path) -> None:
    path = laid(tmp_path, ", note: ours")
    plan = solve(path, explain=False)
    line = next(line for line in plan.lines if line.sku == "gpu_box")
    assert line.support_share == 0.08
    assert line.price is not None and line.price.note is not None
    assert line.price.note.startswith("ours; support, subscription, lead time, ")
    assert line.price.note.endswith("as in 'Own prices'")


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


def test_each_stated_term_counts_alone(tmp_path: Path) -> None:
    entry = ", lead_time: 3 weeks, pack: 1, min_order: 0, stock: 7, per_year: 0 USD"
    price = loaded(tmp_path, entry).prices["gpu_box"]
    assert (price.lead_time, price.pack, price.min_order, price.stock) == ("3 weeks", 1, 0, 7)
    assert price.per_year_usd == 0.0
    assert price.support_per_year is not None


def test_terms_are_kept_over_several_books(tmp_path: Path) -> None:
    inputs = loaded(tmp_path, ", support_per_year: 500 USD", ", lead_time: 2 weeks", "")
    price = inputs.prices["gpu_box"]
    assert price.support_per_year == SupportMoney.model_construct(usd=500.0)
    assert (price.lead_time, price.stock) == ("2 weeks", 90)
    assert "support, subscription, lead time" in str(price.note)
    sources = inputs.price_sources["gpu_box"]
    assert sources[price.source].title == "list of ours_2.yaml"


def test_subscription_of_parts_below_is_kept(tmp_path: Path) -> None:
    built = load(shipped.problem_files()["10MW"]).prices["wekapod_nitro_155"]
    assert built.parts and built.per_year_usd
    book = tmp_path / "ours.yaml"
    sources = "sources: {ours: {title: our list}}"
    entry = f"prices:\n  wekapod_nitro_155: {{{STATED}}}\n"
    book.write_text(f"price_book: Ours\n{sources}\n{entry}", "utf-8")
    path = tmp_path / "10MW.yaml"
    path.write_bytes(shipped.problem_files()["10MW"].read_bytes())
    inputs = load(path, settings=("prices=[estimates_2026, ours.yaml]",))
    assert inputs.prices["wekapod_nitro_155"].per_year_usd == built.per_year_usd
