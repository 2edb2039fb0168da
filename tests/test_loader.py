"""From files to inputs: scenarios, settings, extends, price books, places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from planner import shipped
from planner.errors import InputError
from planner.inputs import Inputs
from planner.loader import load
from planner.loader.prices import load_prices
from planner.schema import Identifier
from planner.schema.problem import Problem
from tests.world.files import FILES, changed

PROBLEM = (
    FILES["problem.yaml"]
    + """\
  half:
    site: {facility_power: 1 MW}
    jobs.seventy.training.mfu: 30 %
  flat:
    site.pue: 1.1
    jobs: {0: {checkpoint: {interval: {policy: fixed, every: 30 min}}}}
"""
)
CATALOG = (
    FILES["own.yaml"]
    + """\
  - id: grand
    extends: child
    model: Grand
    provides:
      write: {value: 9 GB/s, source: sheet, confidence: high}
  - id: child
    extends: quick_store
    model: Child
    consumes:
      it_power: {value: 3 kW, source: sheet, confidence: low, note: measured}
    notes: ["A child"]
"""
)
BOOK = FILES["book.yaml"]
BOTH = changed(PROBLEM, "  - own.yaml\n", "  - own.yaml\n  - other.yaml\n")

Files = Callable[..., Path]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Write the three files, with others in place or beside them; return the problem's path."""

    def write(**others: str) -> Path:
        texts = {"problem": PROBLEM, "own": CATALOG, "book": BOOK} | others
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        return tmp_path / "problem.yaml"

    return write


def error_of(path: Path, *settings: str, scenario: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        load(path, settings=settings, scenario=scenario)
    return str(caught.value)


# Scenarios and settings.


def test_a_scenario_is_laid_over_the_problem(files: Files) -> None:
    inputs = load(files(), scenario="half")
    assert inputs.problem.site.facility_power_kw == 1000.0
    assert inputs.problem.site.pue == 1.25  # what it does not name stays
    assert inputs.problem.job.training.mfu == pytest.approx(0.3)
    assert inputs.problem.job.parameters == 70e9
    assert inputs.scenario == "half"
    flat = load(files(), scenario="flat").problem
    assert flat.site.pue == 1.1
    assert flat.job.checkpoint.interval.policy == "fixed"  # another policy replaces the old one


def test_settings_come_last_and_in_their_order(files: Files) -> None:
    settings = ("site.facility_power=7 MW", "site.pue=1.2", "site.facility_power='8 MW'")
    site = load(files(), settings=settings[:2], scenario="half").problem.site
    assert (site.facility_power_kw, site.pue) == (7000.0, 1.2)
    quoted = load(files(), settings=("name='8'",)).problem
    assert quoted.name == "8"  # quotes make text, as they do in YAML
    assert load(files(), settings=settings[:2]).overrides == settings[:2]


def test_a_setting_that_is_no_unicode(files: Files) -> None:
    assert "'\\ud800'; remove invisible characters" in error_of(files(), "name=\ud800")


def test_settings_make_what_was_not_there(files: Files) -> None:
    settings = ("site.weight_limit=90 t", "site.cooling.air_limit=9 MW", "items.slow_store.max=3")
    problem = load(files(), settings=settings).problem
    assert problem.site.weight_limit_kg == 90_000.0
    assert problem.site.cooling.air_limit_kw == 9000.0
    assert problem.items["slow_store"].max == 3


def test_the_digest_follows_every_input(files: Files) -> None:
    first = load(files())
    digests = {
        first.sha256,
        load(files(), scenario="half").sha256,
        load(files(), settings=("site.pue=1.25",)).sha256,
        load(files(book=changed(BOOK, "300000", "300001"))).sha256,
        load(files(own=CATALOG + "# a comment\n")).sha256,
        load(files(problem=PROBLEM + "# a comment\n")).sha256,
    }
    assert len(digests) == 6
    assert load(files()).sha256 == first.sha256


# Places.


def test_where_a_limit_stands(files: Files) -> None:
    path = files()
    inputs = load(path)

    def line(dotted: str, inputs: Inputs = inputs) -> str | None:
        place = inputs.where(dotted)
        return None if place is None else place.rpartition("/")[2]

    assert line("site.facility_power") == "problem.yaml:3"
    assert line("budget.capex") == "problem.yaml:8"
    assert line("jobs.0.training.mfu") == "problem.yaml:30"
    assert line("site.weight_limit") is None
    assert line("jobs.0.restore.max_time") is None
    scenario = load(path, scenario="half")
    assert line("site.facility_power", scenario) == "problem.yaml:37"
    assert line("jobs.0.training.mfu", scenario) == "problem.yaml:38"
    for entry in ("0", "seventy"):
        other = load(path, settings=("site.facility_power=9 MW", f"jobs.{entry}.training.mfu=20 %"))
        for dotted in ("site.facility_power", "jobs.0.training.mfu"):
            place = other.where(dotted)
            assert place is not None, (dotted, entry)
            assert place.startswith("--set "), place


# Catalogs.


def test_extends_merges_groups_and_replaces_figures(files: Files) -> None:
    items = {item.id: item for item in load(files()).items}
    grand, child, box = items["grand"], items["child"], items["quick_store"]
    assert (grand.vendor, grand.model, grand.family) == ("Quick", "Grand", "quick_fs")
    assert grand.provides.read == box.provides.read
    assert grand.provides.write is not None
    assert (grand.provides.write.value, grand.provides.write.note) == (9.0, None)
    assert grand.consumes == child.consumes
    assert child.consumes.it_power is not None
    assert (child.consumes.it_power.value, child.consumes.it_power.note) == (3.0, "measured")
    assert child.consumes.rack_units == box.consumes.rack_units
    assert grand.notes == child.notes == ("A child",)
    assert box.provides.write is not None
    assert box.provides.write.value == 65.0  # the base is untouched


def test_extended_items_keep_the_sources_of_their_base(files: Files) -> None:
    mine = """\
catalog: Mine
sources:
  own: {title: My own measurement}
items:
  - id: mine
    extends: grand
    model: Mine
    provides:
      read: {value: 11 GB/s, source: own, confidence: high}
"""
    inputs = load(files(other=mine, problem=BOTH))
    assert inputs.catalog_names == ("Own hardware", "Mine")
    sources = inputs.item_sources["mine"]
    assert sources["own"].title == "My own measurement"
    assert inputs.item_sources["grand"]["sheet"].title == "Data sheet of 2026"
    assert "own" not in inputs.item_sources["grand"]


def test_a_source_may_not_mean_two_things_in_one_item(files: Files) -> None:
    mine = """\
catalog: Mine
sources:
  sheet: {title: Another data sheet}
items:
  - {id: mine, extends: grand, model: Mine}
"""
    text = error_of(files(other=mine, problem=BOTH))
    assert "'sheet'" in text
    assert "other.yaml" in text


def test_ids_are_unique_over_all_catalogs(files: Files) -> None:
    again = CATALOG.replace("catalog: Own hardware", "catalog: Again")
    text = error_of(files(other=again, problem=BOTH))
    assert "twice" in text
    assert "other.yaml" in text


# Price books.

MINE = """\
price_book: Mine
sources:
  mine: {title: My quote}
prices:
  quick_store: {list: 900 USD, date: "2026-05", source: mine, confidence: high}
discounts:
  - {item: quick_store, discount: 20 %}
"""


def test_later_books_override_earlier_ones_item_by_item(files: Files, tmp_path: Path) -> None:
    files(mine=MINE, more=MINE.replace("900", "800").replace("Mine", "More"))
    for order, expected, book in (
        (("book", "mine"), 900.0, "Mine"),
        (("mine", "book"), 200_000.0, "Own prices"),
        (("book", "mine", "more"), 800.0, "More"),
        (("book", "more", "mine"), 900.0, "Mine"),
    ):
        prices = load_prices([tmp_path / f"{name}.yaml" for name in order], {})
        assert (prices.prices["quick_store"].list_usd, prices.entries["quick_store"].book) == (
            expected,
            book,
        ), order
        assert (prices.prices["gpu_box"].list_usd, prices.entries["gpu_box"].book) == (
            300_000.0,
            "Own prices",
        )
    both = [tmp_path / "book.yaml", tmp_path / "mine.yaml"]
    assert [d.discount for d in load_prices(both, {}).discounts] == [0.05, 0.2]


SCHEMA = Problem.model_json_schema()
A_NAME = TypeAdapter(Identifier).json_schema()["pattern"]


def settings_of_names(part: dict[str, Any], path: str = "", name: str = "nothing") -> Iterator[str]:
    """Yield what sets each field of a problem that holds a name of something, or several."""
    if "$ref" in part:
        part = SCHEMA["$defs"][part["$ref"].rpartition("/")[2]]
    if part.get("pattern") == A_NAME:
        yield f"{path}={name}"
    for below in part.get("anyOf", ()):
        yield from settings_of_names(below, path, name)
    if "items" in part:
        yield from settings_of_names(part["items"], path, f"[{name}]")
    for step, below in part.get("properties", {}).items():
        yield from settings_of_names(below, f"{path}.{step}".lstrip("."), name)


@pytest.mark.parametrize("setting", sorted({*settings_of_names(SCHEMA)}))
def test_each_name_in_a_problem_is_looked_up(setting: str) -> None:
    """Where this fails: `named_items` of planner/inputs.py."""
    with pytest.raises(InputError) as told:
        load(shipped.problem_files()["full_bill"], settings=(setting,))
    (found,) = told.value.findings
    assert str(found.path).startswith(setting.partition("=")[0])
    assert "'nothing'" in found.message


def test_a_part_of_a_name_is_enough_for_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean 'nvidia_dgx_h100'"):
        load(shipped.problem_files()["10MW"], settings=("consider.gpu_systems=[h100]",))
