"""First screens: the answer on one page, at any width; notes, proof and all the rest on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planner import terminal
from planner.commands.views import VIEWS
from planner.outputs import frontier_text, sweep_text, tornado_text, uncertain_text
from planner.outputs.blocks import Column, FirstScreen, Table, drop_spare_columns, render, screen
from planner.schema.sensitivity import Frontier, Sweep, Tornado
from tests.outputs import samples_sensitivity as samples
from tests.outputs.hostile import TEXTS
from tests.world.commands import once, ran

A_PAGE = 42
"""Lines that a page may have: so many at 60 columns, fewer at 80."""

BRIEF = ("verification",)
"""Results whose whole screen is a few lines."""

COMMANDS = (
    ("explain",), ("sweep", "--mode", "tornado", "--workers", "1"), ("compare", "--near", "1 %"),
    ("compare", "--rules"),
    ("size",), ("simulate", "--replications", "20", "--interval", "10 min"),
    ("sweep", "--mode", "frontier", "--against", "power", "--points", "5", "--workers", "1"),
)  # fmt: skip


def both(study: Any) -> tuple[FirstScreen, Callable[[], str]]:
    """Return a study's first screen and what writes the whole of it."""
    rows = (samples.power_sweep()[1],) if isinstance(study, Sweep) else ()
    views: dict[type[Any], Any] = {Frontier: frontier_text, Tornado: tornado_text,
                                   Sweep: sweep_text}  # fmt: skip
    view = views.get(type(study), uncertain_text)
    return view.first(study, *rows), lambda: screen(view.view(study, *rows))


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("name", samples.everything())
def test_a_first_screen_fits_a_page(
    name: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "_columns", columns)
    lines = render(*both(samples.everything()[name])).splitlines()
    assert max(map(len, lines)) <= columns
    assert len(lines) <= A_PAGE
    assert lines[-1].startswith("More") or lines[-2].startswith("More")


@pytest.mark.parametrize("name", samples.everything())
def test_nothing_is_lost_under_full(name: str) -> None:
    first, whole = both(samples.everything()[name])
    text = render(first, whole, full=True)
    assert whole().removeprefix(first.title).strip("\n") in text
    assert text.count(first.title) == 1
    for label, said in first.answer:
        assert not said or f"\n{label} " in text


@pytest.mark.parametrize("name", samples.nothing())
def test_without_a_plan_the_whole_is_short(name: str) -> None:
    first, whole = both(samples.nothing()[name])
    assert render(first, whole) == whole()


def test_what_changes_nothing_is_one_sentence() -> None:
    study = samples.tornado()
    first, whole = both(study)
    text = render(first, whole)
    assert "1 other changes nothing, low or high: rack positions." in text
    assert not [line for line in text.splitlines() if line.startswith("  rack positions")]
    assert [line for line in whole().splitlines() if "rack positions" in line and "=" in line]
    assert "No plan  restore time 1 min" in text
    assert "rack positions  " in render(first, whole, full=True)


def test_five_notes_of_two_lines_and_all_of_them_on_request() -> None:
    notes = tuple(f"note {at}: {'word ' * 50}end of {at}" for at in range(7))
    first = FirstScreen("Title", (("Plan", "yes"),), notes=notes, proof=("gap 0",), full="all")
    short = render(first, str)
    assert short.count("  - ") == 5 and "note 5" not in short and "end of" not in short
    assert "--full all, all 7 notes, proof" in short and "gap 0" not in short
    assert "Proof\n  - gap 0\n" in render(first, str, full=True)


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_in_a_name_steers_a_terminal(name: str) -> None:
    for study in samples.everything().values():
        first, whole = both(samples.saying(study, TEXTS[name]))
        for full in (False, True):
            text = render(first, whole, full=full)
            assert all(line.isprintable() for line in text.split("\n"))


def test_every_result_has_a_first_screen_but_the_brief_ones() -> None:
    assert [view.name for view in VIEWS.values() if view.first is None] == list(BRIEF)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_answers_on_a_page(words: tuple[str, ...], small: str) -> None:
    name, *options = words
    short, full = once(name, small, *options), ran(name, small, *options, "--full")
    assert (short.code, short.err, full.err) == (0, "", "")
    assert len(short.out.splitlines()) <= A_PAGE
    assert max(map(len, short.out.splitlines())) <= terminal.STANDARD
    assert len(full.out.splitlines()) > len(short.out.splitlines())
    assert "More " in short.out and "--full " in short.out


def test_a_narrow_screen_does_without_what_matters_least(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(
        "T",
        (
            Column("name", ("a name of many letters",), words=True, gives_way=True),
            Column("needed", ("123456789012345",)),
            Column("seldom", ("1234567890",), spare=2),
            Column("often", ("1234567890",), spare=1),
        ),
    )
    heads = {}
    for columns in (100, 55, 40):
        monkeypatch.setattr(terminal, "_columns", columns)
        shown = drop_spare_columns(table)
        assert isinstance(shown, Table)
        heads[columns] = [column.label for column in shown.columns]
        assert max(map(len, screen([shown]).splitlines())) <= columns
    assert heads[100] == ["name", "needed", "seldom", "often"]
    assert heads[55] == ["name", "needed", "often"]
    assert heads[40] == ["name", "needed"]


def test_a_column_of_figures_says_their_unit() -> None:
    """The one they are written in, below the label; words and what has a head of its own do not."""
    table = Table(
        "What it costs",
        (
            Column("years", (1.0, 2.0), head=("for so", "many years")),
            Column("TCO", (28_294_532.7, 31_067_628.6), "USD"),
            Column("note", ("dear", "dearer"), words=True),
        ),
    )
    assert screen([table]).splitlines() == [
        "What it costs",
        "      for so    TCO",
        "  many years   MUSD  note",
        "           1  28.29  dear",
        "           2  31.07  dearer",
    ]


def test_several_records_share_the_page(small: str) -> None:
    shown = once("sweep", "--mode", "frontier", small, "--points", "4", "--workers", "1")
    assert shown.out.count("(frontier: ") == 3
    assert shown.out.count("Best ") == 3
    assert len(shown.out.splitlines()) <= A_PAGE
    assert "By a rule for storage" not in shown.out
