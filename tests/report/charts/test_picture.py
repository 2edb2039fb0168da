"""Pictures as files: the same bytes each time, nothing that overlaps, nothing that leaks."""

from __future__ import annotations

import struct
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib.text import Text

from planner.report import picture
from planner.report.blocks import Chart
from tests.report.charts import samples
from tests.report.charts.samples import charts
from tests.report.samples_sensitivity import storage_frontier

KINDS = len(samples.all_kinds())
CHARTS: dict[str, Chart] = {
    f"{number}-{chart.name}": chart
    for number, (study, rows) in enumerate([*samples.all_kinds(), *samples.hostile()])
    for chart in charts(study, rows)
    if number < KINDS or chart.name in ("frontier", "tornado", "candidates")
}


@pytest.fixture(scope="module")
def frontier() -> Chart:
    return charts(storage_frontier())[0]


def test_the_same_chart_gives_the_same_bytes(frontier: Chart) -> None:
    first = picture.png(frontier), picture.svg(frontier)
    with mpl.rc_context({"font.size": 30.0, "svg.hashsalt": "other", "axes.facecolor": "red"}):
        assert (picture.png(frontier), picture.svg(frontier)) == first


def test_files_tell_neither_when_nor_by_what_they_were_made(frontier: Chart) -> None:
    data = picture.png(frontier)
    assert _chunks(data) <= {b"IHDR", b"IDAT", b"IEND", b"pHYs"}
    assert struct.unpack(">I", data[16:20]) == (1000,)
    text = picture.svg(frontier).decode()
    assert mpl.__version__ not in text and "<dc:date>" not in text and "<dc:creator>" not in text
    root = ElementTree.fromstring(text)
    assert "Useful work against" in "".join(root.itertext())


@pytest.mark.parametrize("name", CHARTS)
def test_no_words_overlap_or_leave_the_picture(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[int, tuple[str, Any]] = {}
    draw = Text.draw

    def noted(text: Text, renderer: Any) -> None:
        draw(text, renderer)
        if text.get_visible() and text.get_text():
            drawn[id(text)] = (text.get_text(), text.get_window_extent(renderer))

    monkeypatch.setattr(Text, "draw", noted)
    data = picture.png(CHARTS[name])
    wide, high = struct.unpack(">II", data[16:24])
    boxes = list(drawn.values())
    assert boxes
    for place, (words, box) in enumerate(boxes):
        assert box.x0 >= -1 and box.x1 <= wide + 1, words
        assert box.y0 >= -1 and box.y1 <= high + 1, words
        for other, beside in boxes[place + 1 :]:
            across = min(box.x1, beside.x1) - max(box.x0, beside.x0)
            upward = min(box.y1, beside.y1) - max(box.y0, beside.y0)
            assert across <= 1 or upward <= 2, (words, other)


def _chunks(data: bytes) -> set[bytes]:
    found, at = set(), 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        found.add(data[at + 4 : at + 8])
        at += 12 + length
    return found
