"""The report as text: one file, the same bytes, every name a name and nothing more."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from planner.results import EDITIONS
from planner.results import plan_page as page_of_plan
from planner.schema.plan import Plan
from tests.report import studies as samples
from tests.report.studies import report, storage_frontier, tornado
from tests.world.known_plans import CASES, plan
from tests.world.solved import write_plan

PLAN = plan(CASES["complete"])


class Page(HTMLParser):
    """What a browser makes of a report: its elements, texts and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            del self.open[len(self.open) - 1 - self.open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if "script" in self.open:
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.texts.append(data)


@cache
def whole() -> str:
    return report("10 MW training hall", PLAN, samples.all_kinds())


@cache
def page() -> Page:
    return Page(whole())


def test_no_library_is_carried_and_nothing_is_fetched() -> None:
    assert page().scripts == []
    assert len(whole()) < 700_000
    for tag, attrs in page().tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form"), tag
        assert not {"src", "srcset", "action", "onclick", "onload"} & set(attrs), attrs
        link = attrs.get("href") or "#"
        assert link.startswith("#") or (tag == "image" and link.startswith("data:image/png;"))
    (style,) = re.findall(r"<style>(.*?)</style>", whole(), re.DOTALL)
    assert "url(" not in style and "@import" not in style


def test_names_are_names_and_nothing_more() -> None:
    text = report(samples.HOSTILE, None, samples.hostile())
    hostile = Page(text)
    assert "script" not in [tag for tag, _ in hostile.tags]
    assert {tag for tag, _ in hostile.tags} <= {tag for tag, _ in page().tags} | {"caption", "code"}
    assert "<b>" not in text
    assert samples.HOSTILE in hostile.texts
    assert sum(samples.HOSTILE in said for said in hostile.texts) > 5


@pytest.mark.parametrize(
    "name", ["a\ud800b", "\u202egpj.exe", "a\x00b\x1b[31m", "x" * 4_000, "", "{{1}} ${x} ]]>"]
)
def test_any_name_makes_a_report_that_can_be_written(name: str) -> None:
    study = storage_frontier().model_copy(update={"problem": name, "y_label": name})
    swings = tuple(one.model_copy(update={"label": name}) for one in tornado().swings)
    text = report(
        name, None, [(study, None), (tornado().model_copy(update={"swings": swings}), None)]
    )
    text.encode()
    assert "\u202e" not in text and "\x1b" not in text
    assert text.count('class="plot"') == 2


def test_the_bill_is_whole_with_prices_power_and_part_numbers() -> None:
    texts = Page(report("x", PLAN, [])).texts
    lines = [line for line in PLAN.lines if line.parent is None]
    assert PLAN.totals is not None and len(lines) > 5
    for line in lines:
        assert (line.part_number or "on request").replace("none public", "on request") in texts
        if line.unit_net_usd is not None:
            assert f"{line.unit_net_usd:,.2f}" in texts and line.extended_net_usd is not None
            assert f"{line.extended_net_usd:,.2f}" in texts, line.sku
        assert line.it_power_kw is None or f"{line.it_power_kw:,.2f}" in texts, line.sku
    assert PLAN.totals.capex_usd is not None and PLAN.totals.it_power_kw is not None
    assert any(text.startswith(f"{PLAN.totals.capex_usd:,.2f}") for text in texts)
    assert any(text.startswith(f"{PLAN.totals.it_power_kw:,.2f}") for text in texts)


# Pages of plans and studies: what each edition shows, in which currency.


PROBLEM = Path(__file__).parents[3] / "problems" / "10MW.yaml"


@pytest.fixture(scope="module")
def plan_page(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return write_plan(tmp_path_factory.mktemp("plans") / "10MW.plan.json", PROBLEM)


@pytest.mark.parametrize(
    ("edition", "seen", "unseen"),
    [
        ("internal", ("unit net, USD", "TCO", "Storage alternatives", "10MW.yaml"), ()),
        ("customer", ("unit net, USD",), ("TCO", "discount", "alternatives", "10MW.yaml")),
        ("customer-no-prices", ("part number",), ("USD", "capex", "10MW.yaml", "alternatives")),
        ("partner", ("unit net, USD",), ("TCO", "10MW.yaml", "incumbent")),
    ],
)
def test_a_page_shows_what_its_audience_may_see(
    plan_page: Plan, edition: str, seen: tuple[str, ...], unseen: tuple[str, ...]
) -> None:
    text = page_of_plan(plan_page, EDITIONS[edition]).decode()
    assert [word for word in seen if word not in text] == []
    assert [word for word in unseen if word in text] == []
