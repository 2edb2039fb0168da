"""The report as a command: what it takes, what it refuses, and in which words."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.commands.report_html import POINTS, report
from planner.currency import Currency, shown_in
from planner.errors import InputError
from planner.inputs import Inputs
from planner.schema.sensitivity import Frontier, Sweep
from tests.outputs.charts import samples
from tests.outputs.charts.test_rules_chart import table
from tests.outputs.samples_sensitivity import (
    cost_frontier,
    power_sweep,
    storage_frontier,
    tornado,
    uncertain,
)
from tests.world.solved import write_plan

PROBLEM = Path(__file__).parents[3] / "problems" / "10MW.yaml"


def written(folder: Path, name: str, record: Any) -> Path:
    path = folder / name
    path.write_text(record.model_dump_json(indent=2), "utf-8")
    return path


def parquet(record: Path, rows: dict[str, list[Any]]) -> Path:
    path = record.with_suffix(".parquet")
    pq.write_table(pa.table(rows), path)
    return path


def swept(folder: Path) -> tuple[Path, dict[str, list[Any]]]:
    study, rows = power_sweep(21)
    return written(folder, "10MW.sweep.json", study), rows


def refused(*inputs: Path, output: Path | None = None) -> str:
    with pytest.raises(InputError) as caught:
        report(inputs, output or Path("never.html"))
    (finding,) = caught.value.findings
    assert "\n" not in finding.text()
    return finding.text()


@pytest.mark.exhaustive(keep=0)
def test_one_report_of_everything(tmp_path: Path) -> None:
    plan_file = tmp_path / "10MW.plan.json"
    write_plan(plan_file, PROBLEM)
    sweep_file, rows = swept(tmp_path)
    parquet(sweep_file, rows)
    inputs = (
        written(tmp_path, "10MW.frontier.json", storage_frontier()),
        written(tmp_path, "10MW.frontier.cost.json", cost_frontier()),
        plan_file,
        written(tmp_path, "10MW.tornado.json", tornado()),
        written(tmp_path, "10MW.uncertain.json", uncertain()),
        sweep_file,
    )
    output = tmp_path / "new" / "report.html"
    found = report(inputs, output)
    assert found.code == 0 and found.written == (output,)
    assert "Useful work against capex: The most useful work is" in found.text.replace("\n    ", " ")
    text = output.read_text("utf-8")
    assert text.count('class="plot"') == 4 + 4 + 3 + 4 and "<h1>10 MW training hall</h1>" in text
    report(inputs, output, title="Ours & theirs")
    again = output.read_text("utf-8")
    assert "<h1>Ours &amp; theirs</h1>" in again and again != text
    report(inputs, output)
    assert output.read_text("utf-8") == text


def test_a_table_as_csv_shows_the_same(tmp_path: Path) -> None:
    record, rows = swept(tmp_path)
    table = parquet(record, rows)
    report([record], tmp_path / "parquet.html")
    table.unlink()
    with record.with_suffix(".csv").open("w", encoding="utf-8", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow(rows)
        lines.writerows(zip(*rows.values(), strict=True))
    report([record], tmp_path / "csv.html")
    pages = [(tmp_path / f"{kind}.html").read_bytes() for kind in ("parquet", "csv")]
    assert pages[0] == pages[1]


def test_a_sweep_without_rows_is_reported(tmp_path: Path) -> None:
    study, rows = power_sweep(3)
    empty = study.model_copy(update={"rows": 0, "statuses": {}})
    record = written(tmp_path, "x.sweep.json", empty)
    record.with_suffix(".csv").write_text(",".join(rows) + "\n", "utf-8")
    report([record], tmp_path / "x.html")
    assert "The table has no rows." in (tmp_path / "x.html").read_text("utf-8")


def test_hostile_results_are_reported(tmp_path: Path) -> None:
    inputs = []
    for number, (study, rows) in enumerate(samples.hostile()):
        inputs.append(written(tmp_path, f"{number}.json", study))
        if isinstance(study, Sweep) and rows is not None:
            parquet(inputs[-1], rows)
    found = report(inputs, tmp_path / "x.html")
    assert samples.HOSTILE.split()[0] in found.text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "this is no JSON: expecting value"),
        ("{\n  'a': 1}", "x.json:2: this is no JSON: expecting property name"),
        ("\xff\xfe", "this is no JSON"),
        ("[1, 2]", "this is no result of planner"),
        ("{}", "this is no result of planner"),
        ('{"kind": "bill"}', "this is no result of planner"),
        ('{"kind": ["sweep"]}', "this is no result of planner"),
        ('{"kind": "tornado"}', "a result of version None, this planner reads 1"),
        ('{"kind": "tornado", "schema_version": 1}', "this is no tornado as planner writes it"),
        ("[" * 100_000, "this is no JSON"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content.encode("latin-1"))
    said = refused(path)
    assert said.startswith(str(path)) and words in said
    if "result of planner" in words or "JSON" in words:
        assert ".plan.json" in said and ".sweep.json" in said


def test_a_missing_file_a_folder_and_nothing_at_all_are_refused(tmp_path: Path) -> None:
    assert "there is no such file" in refused(tmp_path / "10MW.plan.json")
    assert "is a folder, not a file" in refused(tmp_path)
    assert "there is nothing to report" in refused()


@pytest.mark.exhaustive(keep=0)
def test_several_plans_go_by_their_files_names(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.plan.json" for name in "ab"]
    for path in paths:
        write_plan(path, PROBLEM)
    report(paths, tmp_path / "both.html")
    text = (tmp_path / "both.html").read_text("utf-8")
    assert "<h2>a</h2>" in text and "<h2>b</h2>" in text and len(text) < 300_000
    (tmp_path / "c").mkdir()
    twin = tmp_path / "c" / "a.plan.json"
    twin.write_bytes(paths[0].read_bytes())
    report([paths[0], twin], tmp_path / "twins.html")
    text = (tmp_path / "twins.html").read_text("utf-8")
    assert f"<h2>{paths[0]}</h2>" in text and f"<h2>{twin}</h2>" in text


def test_o_names_the_file_or_its_folder_and_not_both(tmp_path: Path) -> None:
    path = written(tmp_path, "x.tornado.json", tornado())
    for given, file in (("x.html", "x.html"), ("new", "new/report.html")):
        assert report([path], folder=tmp_path / given).written == (tmp_path / file,)
    with pytest.raises(InputError) as caught:
        report([path], tmp_path / "a.html", folder=tmp_path / "b.html")
    (finding,) = caught.value.findings
    assert "--file and -o both say where" in finding.text()
    assert not (tmp_path / "a.html").exists() and not (tmp_path / "b.html").exists()


def test_a_result_of_another_version_is_refused(tmp_path: Path) -> None:
    study = tornado().model_copy(update={"schema_version": 2})
    assert "a result of version 2" in refused(written(tmp_path, "x.json", study))


def test_a_result_with_a_wrong_value_is_refused_at_its_place(tmp_path: Path) -> None:
    data = json.loads(tornado().model_dump_json())
    data["swings"][1]["low"]["objective"] = "much"
    path = tmp_path / "x.tornado.json"
    path.write_text(json.dumps(data), "utf-8")
    assert "swings.1.low.objective: this is no tornado" in refused(path)


def test_a_sweep_without_its_table_is_refused(tmp_path: Path) -> None:
    record, _ = swept(tmp_path)
    said = refused(record)
    assert "neither 10MW.sweep.parquet nor 10MW.sweep.csv lies beside it" in said


def test_the_table_of_another_sweep_is_refused(tmp_path: Path) -> None:
    record, rows = swept(tmp_path)
    parquet(record, {name: cells for name, cells in rows.items() if name != "bound"})
    assert "it has no column 'bound'" in refused(record)
    parquet(record, {name: cells[:5] for name, cells in rows.items()})
    assert "5 rows where the sweep's record tells of 21" in refused(record)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_broken_table_is_refused(tmp_path: Path, suffix: str) -> None:
    record, _ = swept(tmp_path)
    record.with_suffix(suffix).write_bytes(b"a,b\n1\n\xff\x00")
    assert f"10MW.sweep{suffix}: cannot be read: " in refused(record)


def test_a_report_does_not_overwrite_what_it_is_made_of(tmp_path: Path) -> None:
    path = written(tmp_path, "x.tornado.json", tornado())
    before = path.read_bytes()
    assert "would overwrite" in refused(path, output=tmp_path / "." / "x.tornado.json")
    assert path.read_bytes() == before


def test_an_output_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "x.tornado.json", tornado())
    assert "cannot write" in refused(path, output=tmp_path)


def test_rules_are_reported_as_compare_writes_them(tmp_path: Path) -> None:
    path = written(tmp_path, "x.rules.json", table())
    found = report([path], tmp_path / "x.html")
    assert "What each rule would cost" in found.text


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "10MW.plan.json"
    write_plan(path, PROBLEM)
    return path


@pytest.mark.parametrize(
    ("audience", "prices", "seen", "unseen"),
    [
        ("internal", None, ("unit net, USD", "TCO", "Storage alternatives", "10MW.yaml"), ()),
        ("customer", None, ("unit net, USD",), ("TCO", "discount", "alternatives", "10MW.yaml")),
        ("customer", "none", ("part number",), ("USD", "capex", "10MW.yaml", "alternatives")),
        ("partner", None, ("unit net, USD",), ("TCO", "10MW.yaml", "no plan has more")),
    ],
)
def test_a_report_shows_what_its_audience_may_see(
    plan_file: Path, tmp_path: Path, audience: Any, prices: Any,
    seen: tuple[str, ...], unseen: tuple[str, ...],
) -> None:  # fmt: skip
    report([plan_file], tmp_path / "x.html", audience=audience, prices=prices)
    text = (tmp_path / "x.html").read_text("utf-8")
    assert [word for word in seen if word not in text] == []
    assert [word for word in unseen if word in text] == []


def test_studies_stay_inside(plan_file: Path, tmp_path: Path) -> None:
    study = written(tmp_path, "x.tornado.json", tornado())
    for inputs, curve in (([plan_file, study], False), ([plan_file], True)):
        with pytest.raises(InputError) as caught:
            report(inputs, tmp_path / "x.html", audience="customer", curve=curve)
        assert "studies stay inside, and this is the customer" in caught.value.findings[0].text()
    with pytest.raises(InputError) as caught:
        report([plan_file], tmp_path / "x.html", prices="none")
    assert "--prices is for --audience customer" in caught.value.findings[0].text()
    assert not (tmp_path / "x.html").exists()


def test_a_curve_is_computed_once_for_a_problem_and_only_where_none_is_given(
    plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str, int]] = []

    def study(
        inputs: Inputs, _options: Any, *, against: tuple[str], points: int, progress: Any
    ) -> list[Frontier]:
        asked.append((inputs.problem.name, *against, points))
        return [storage_frontier().model_copy(update={"problem": inputs.problem.name})]

    monkeypatch.setattr("planner.studies.frontier.study", study)
    output = tmp_path / "x.html"
    report([plan_file], output)
    assert asked == [] and "Useful work against" not in output.read_text("utf-8")
    report([plan_file, plan_file], output, curve=True)
    assert asked == [("10 MW training hall", "storage", POINTS)]
    assert "Useful work against delivered write bandwidth" in output.read_text("utf-8")
    own = storage_frontier().model_copy(update={"problem": "10 MW training hall", "overrides": ()})
    report([plan_file, written(tmp_path, "x.frontier.json", own)], output, curve=True)
    assert len(asked) == 1  # an older record: known by its names
    made_from = json.loads(plan_file.read_text("utf-8"))["provenance"]["input_sha256"]
    for sha, computed in ((made_from, 1), ("0" * 64, 2)):  # of other files, though named alike
        curve = own.model_copy(update={"input_sha256": sha})
        report([plan_file, written(tmp_path, "x.frontier.json", curve)], output, curve=True)
        assert len(asked) == computed
        others = "made from other inputs than the plan" in output.read_text("utf-8")
        assert others == (computed == 2)


@pytest.mark.exhaustive(keep=0)
def test_the_curve_is_that_of_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "octet.plan.json"
    write_plan(path, PROBLEM.with_name("gpt3_octet.yaml"))
    report([path], tmp_path / "x.html", curve=True)
    text = (tmp_path / "x.html").read_text("utf-8")
    assert "Plans on the curve" in text and text.index("study-1") < text.index('id="hall"')


def parts_of(text: str) -> dict[str, str]:
    """Return the sections of a page with a heading of the second level, by their place."""
    found = re.split(r'<section id="([\w-]+)"><h2>', text)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_plans_are_compared_in_the_firsts_currency_and_each_is_shown_in_its_own(
    tmp_path: Path,
) -> None:
    dollars, euros = tmp_path / "dollars.plan.json", tmp_path / "euros.plan.json"
    write_plan(dollars, PROBLEM)
    own = tmp_path / "euros.yaml"
    rate = "exchange: {EUR: {usd: 2, on: 2026-11-20, source: ECB}}\ncurrency: EUR\n"
    own.write_text(PROBLEM.read_text("utf-8") + rate)
    plan = write_plan(euros, own)
    assert plan.totals is not None and plan.totals.capex_usd is not None
    capex = {code: f"{plan.totals.capex_usd / usd / 1e6:,.2f} M{code}"
             for code, usd in (("EUR", 2.0), ("USD", 1.0))}  # fmt: skip
    rules = written(tmp_path, "x.rules.json", table())
    told = "1 EUR = 2 USD on 2026-11-20 (ECB)"
    for files, codes in (((euros, dollars), ("EUR", "USD")), ((dollars, euros), ("USD", "EUR"))):
        output = tmp_path / f"{codes[0]}.html"
        with shown_in(Currency("GBP", 4.0)):  # what was shown before says nothing
            report([*files, rules], output)
        parts = parts_of(output.read_text("utf-8"))
        names = [file.name.removesuffix(".plan.json") for file in files]
        said = f"Amounts side by side are in {codes[0]}, the currency of the first plan ({told})."
        each = ", ".join(f"{name} in {code}" for name, code in zip(names, codes, strict=True))
        assert f"{said} Below, each plan is in its own: {each}." in parts["plans"]
        assert parts["plans"].count(capex[codes[0]]) >= 2
        assert capex[codes[1]] not in parts["plans"]
        for number, code in enumerate(codes, 1):
            inside = parts[f"plan-{number}"]
            assert inside.count(told) == (code == "EUR")
            inside = inside.replace(told, "")
            assert {"EUR", "USD", "GBP"} & set(re.findall(r"[A-Z]{3}", inside)) == {code}
            assert capex[code] in inside and f"unit net, {code}" in inside
        assert "+3.00 MUSD" in parts["study-1"] and "EUR" not in parts["study-1"]
    report([dollars, dollars.with_name("x.rules.json")], tmp_path / "one.html")
    assert "side by side are" not in (tmp_path / "one.html").read_text("utf-8")
    report([euros, dollars], tmp_path / "two.html", audience="customer")
    assert "ECB" not in (tmp_path / "two.html").read_text("utf-8")
    report([euros], tmp_path / "c.html", audience="customer")
    outside = (tmp_path / "c.html").read_text("utf-8")
    assert "unit net, EUR" in outside and "USD" not in outside and "ECB" not in outside
