"""The editions for the outside: what leaves the house is marked in the schema, and nothing else."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from planner.report.edition import Audience, for_audience, visible_fields
from planner.report.exports import bill, bill_csv, bill_json
from planner.report.page import render_page
from planner.schema import PlanModel, Prices
from planner.schema.plan import LimitReport, Plan
from tests.workbook.conftest import made
from tests.workbook.office import to_read
from tests.world.known_plans import CASES, plan
from tests.world.solved import solved

EDITIONS: tuple[tuple[Audience, Prices], ...] = (
    ("customer", "none"),
    ("customer", "net"),
    ("customer", "list+net"),
    ("partner", "discount"),
)
PLANTED = "Quince"


def models(base: type[PlanModel] = PlanModel) -> Iterator[type[PlanModel]]:
    for model in base.__subclasses__():
        if model.__module__.startswith("planner."):
            yield model
            yield from models(model)


NAMES = {
    "Plan.problem", "Line.vendor", "Line.model",
    "Line.part_number", "Line.description", "Line.unit", "Line.lead_time", "Line.sku",
    "Line.site", "Line.parent", "Line.category",
    "Totals.critical_skus", "Device.sku", "FabricReport.switch_sku",
    "FabricReport.serves", "WayPlan.id", "WayPlan.option", "WayPlan.gpu_type", "JobPlan.gpu_type",
    "JobPlan.gpu_types", "JobPlan.storage_family", "JobPlan.storage_families",
    "LimitReport.name", "LimitReport.label", "LimitReport.unit", "ObjectiveReport.name",
    "ObjectiveReport.unit", "Provenance.tool", "Provenance.input_sha256",
    "Plan.not_counted",
    "Line.role",
}  # fmt: skip
"""Fields of text that leave the house: names of products and ids."""


def has_text(kind: Any) -> bool:
    """Return whether a type has free text in it: no Literal, no number."""
    if get_origin(kind) is Literal:
        return False
    return kind is str or any(
        has_text(part) for part in get_args(kind)[: 1 if is_dict(kind) else None]
    )


def is_dict(kind: Any) -> bool:
    return get_origin(kind) is dict


def test_no_free_text_leaves_but_names() -> None:
    texts = {
        f"{model.__name__}.{name}"
        for model in models()
        for name in visible_fields(model)
        if has_text(model.model_fields[name].annotation)
        and not is_dict(model.model_fields[name].annotation)
    }
    assert texts <= NAMES


def test_money_leaves_only_where_prices_are_shown() -> None:
    for model in models():
        for name, prices in visible_fields(model).items():
            money = "usd" in name.split("_") or name in ("discount", "support_share")
            assert money == (prices != "none"), name


def planted(model: BaseModel, path: str = "") -> tuple[Any, list[str]]:
    """Return a part of a plan with a word in every text, and the words that may leave."""
    changes: dict[str, Any] = {}
    allowed: list[str] = []
    marks = visible_fields(type(model)) if isinstance(model, PlanModel) else {}
    for name, info in type(model).model_fields.items():
        value, here = getattr(model, name), f"{path}{name.title().replace('_', '')}"
        new, words = _planted(value, here, info.annotation, name)
        changes[name] = new
        if name in marks:
            allowed += words
    return model.model_copy(update=changes), allowed


KEPT = {"sku", "parent", "counted_as", "switch_sku", "gpu_type", "gpu_types", "critical_skus",
        "section", "unit", "name", "lead_time", "category", "id", "serves", "date",
        "storage_family", "storage_families", "inputs", "checksums", "code"}  # fmt: skip
"""Fields that refer to one another, or whose text means something to the program."""


def _planted(value: Any, here: str, kind: Any, name: str) -> tuple[Any, list[str]]:
    if isinstance(value, BaseModel):
        return planted(value, here)
    if isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        parts = [planted(each, f"{here}{at}") for at, each in enumerate(value)]
        return tuple(part for part, _ in parts), [word for _, words in parts for word in words]
    word = f"{PLANTED}{here}"
    if name in KEPT or not has_text(kind) or is_dict(kind):
        return value, []
    if isinstance(value, tuple):
        return (word,), [word]
    return word, [word]


def whole_text(content: bytes) -> str:
    """Return all text in a file, of an .xlsx that of every part."""
    if not content.startswith(b"PK"):
        return content.decode()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return "\n".join(archive.read(part).decode() for part in archive.namelist())


def files(source: Plan, audience: Audience, prices: Prices) -> dict[str, bytes]:
    """Return what an edition consists of."""
    listed = bill(source, audience, prices)
    shown = for_audience(source, audience, prices)
    return {
        "xlsx": made(source, audience, prices).content,
        "csv": bill_csv(listed, prices),
        "json": bill_json(listed, prices),
        "html": render_page("x", shown, []).encode(),
    }


def sources() -> dict[str, Plan]:
    return {
        "10MW": solved("10MW"),
        "full_bill": solved("full_bill"),
        "case": plan(CASES["complete"]),
    }


@pytest.mark.parametrize(("audience", "prices"), EDITIONS)
@pytest.mark.parametrize("name", ["10MW", "full_bill", "case"])
def test_words_planted_in_every_field_stay_inside(
    name: str, audience: Audience, prices: Prices
) -> None:
    source, allowed = planted(sources()[name])
    assert len(allowed) < 4000
    for ending, content in files(source, audience, prices).items():
        found = set(re.findall(rf"{PLANTED}\w+", whole_text(content)))
        assert found <= set(allowed), ending


def with_a_discount(source: Plan) -> Plan:
    """Return a plan whose GPU systems have a list price that no other figure has."""
    line = source.lines[0]
    changes = {"unit_list_usd": 521_678.0, "discount": 0.1374, "unit_net_usd": 450_000.0}
    changes["extended_list_usd"] = 521_678.0 * line.purchased
    changed = line.model_copy(update=changes)
    return source.model_copy(update={"lines": (changed, *source.lines[1:])})


@pytest.mark.parametrize(("audience", "prices"), EDITIONS)
def test_amounts_that_an_edition_does_not_show_are_in_no_file(
    audience: Audience, prices: Prices
) -> None:
    source = with_a_discount(solved("10MW"))
    assert source.totals is not None
    hidden: list[float] = [source.totals.tco_usd or 0.0, source.totals.opex_usd_per_year or 0.0]
    if prices in ("none", "net"):
        hidden += [line.unit_list_usd or 0.0 for line in source.lines if line.discount]
    if prices == "none":
        hidden += [line.extended_net_usd or 0.0 for line in source.lines]
        hidden.append(source.totals.capex_usd or 0.0)
    shown = 10_000.0  # the hall's own limit of power in kW, with the same digits
    hidden = [amount for amount in hidden if amount >= 10_000 and amount != shown]
    assert hidden
    for ending, content in files(source, audience, prices).items():
        text = whole_text(content)
        plain = re.sub(r"(?<=\d)[,'  ](?=\d)", "", text)
        for amount in hidden:
            whole = f"{amount:.0f}"
            assert not re.search(rf"(?<![\d.]){whole}(?!\d)", plain), (ending, amount)
    discount = "0.1374"
    shows = prices == "discount"
    content = made(source, audience, prices).content
    assert (discount in whole_text(content)) == shows


@pytest.mark.parametrize(("audience", "prices"), EDITIONS)
def test_the_workbook_has_four_sheets_and_nothing_hidden(
    audience: Audience, prices: Prices
) -> None:
    content = made(solved("10MW"), audience, prices).content
    book = to_read(content)
    assert book.sheetnames == ["Quote", "Performance", "Power & cost", "Racks & fabric"]
    assert {sheet.sheet_state for sheet in book} == {"visible"}
    for sheet in book:
        assert not [key for key, row in sheet.row_dimensions.items() if row.hidden]
        assert not [key for key, column in sheet.column_dimensions.items() if column.hidden]
    assert not [name for name, each in book.defined_names.items() if each.hidden]
    assert len(book["Power & cost"]._charts) == (1 if prices == "none" else 2)
    text = whole_text(content)
    assert "comment" not in text.casefold().replace("commentpr", "")
    assert not re.search(r"[A-Za-z0-9+/]{400}", text)


def test_limits_of_money_and_of_vendors_stay_inside() -> None:
    source = solved("10MW")
    more = [
        LimitReport(
            name=name, label="x", value=1.0, sense="<=", limit=2.0, unit="units",
            binding=False, source=None,
        )
        for name in ("split.0", "require_vendor.0", "no such limit")
    ]  # fmt: skip
    shown = for_audience(source.model_copy(update={"limits": (*source.limits, *more)}), "customer")
    names = {limit.name for limit in shown.limits}
    assert "facility_power" in names
    assert not names & {"capex", "split.0", "require_vendor.0", "no such limit"}
