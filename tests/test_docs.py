"""The documentation says what the program does: commands, options, links, snippets, pictures."""

from __future__ import annotations

import importlib.util
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from planner.loader import load_with_findings
from planner.loader.catalogs import load_catalogs
from planner.loader.prices import load_prices
from tests.smoke import COMMANDS
from tests.world.commands import ran, script
from tests.world.solved import solve, solved

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


make_commands = script("make_commands")
make_pictures = script("make_pictures")
make_screen = script("make_screen")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def fences(page: Path, *languages: str) -> list[str]:
    found = FENCE.findall(page.read_text("utf-8"))
    return [whole_lines(text) for language, text in found if language in languages]


def whole_lines(text: str) -> str:
    """Join what is continued on the next line."""
    return re.sub(r" \\\n +", " ", text)


def command_lines() -> list[tuple[str, str]]:
    """Every line of every console block that calls planner, without its comment."""
    lines = []
    for page in PAGES:
        for line in "\n".join(fences(page, "console")).splitlines():
            if line.startswith("$ planner "):
                lines.append((name_of(page), re.sub(r"\s+#.*", "", line[2:])))
    return lines


def test_reference_is_what_the_program_says() -> None:
    written = (ROOT / "docs" / "commands.md").read_text("utf-8")
    assert written == make_commands.page(), "run python scripts/make_commands.py"


def test_documented_commands_and_options_exist() -> None:
    known = make_commands.commands()
    for page, line in command_lines():
        words = line.split()[1:]
        name = next((n for n in (" ".join(words[:2]), words[0]) if n in known), None)
        assert name is not None, f"{page}: {line}"
        options = {option for p in make_commands.options(known[name]) for option in p.opts}
        used = re.findall(r"(?<=\s)(--?[a-z][a-z-]*)", line)
        assert set(used) <= options, f"{page}: {line}"


def test_options_named_in_texts_exist() -> None:
    """A table of the guide named `--stamp` after it was gone."""
    parameters = [p for command in make_commands.commands().values() for p in command.params]
    known = {"--help", "--version"}.union(*(p.opts + p.secondary_opts for p in parameters))
    for page in PAGES:
        if page.parent.name != "adr" and page.stem not in ("CHANGELOG", "developing", "commands"):
            assert set(re.findall(r"`(--[a-z-]+)", page.read_text("utf-8"))) <= known, page


def test_readme_shows_the_real_screen() -> None:
    real = make_screen.screen()
    assert "the proven best" in real
    assert make_screen.shown() == real, "run python scripts/make_screen.py"


@pytest.mark.exhaustive(keep=0)
def test_the_curve_is_drawn_from_the_plans_of_today() -> None:
    drawn = make_pictures.PICTURE.read_text("utf-8")
    assert drawn == make_pictures.draw(), "run python scripts/make_pictures.py"


@pytest.mark.exhaustive(keep=0)
def test_the_table_of_what_rules_cost_is_true() -> None:
    cells = r"(\d+) ([^|]+) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+)"
    row = re.compile(rf"^\| .*`(\w+)`.* \| {cells} \|$", re.MULTILINE)
    rows = row.findall((ROOT / "docs" / "why.md").read_text("utf-8"))
    assert [name for name, *_ in rows] == ["demand", "light", "medium", "high"]
    for rule, count, model, gpus, pflops, spent in rows:
        plan = solved("10MW", f"storage.rule={rule}")
        job, storage = plan.jobs[0], next(x for x in plan.lines if x.section == "Storage")
        assert (int(count), model) == (storage.quantity, storage.model), rule
        assert gpus == f"{job.gpus_used:,}"
        assert pflops == f"{job.useful_pflops:,.0f}"
        assert spent == f"{(storage.extended_net_usd or 0.0) / 1e6:.1f}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {word.strip().replace(" ", "-") for word in words}


def links() -> list[tuple[Path, str]]:
    texts = ((page, FENCE.sub("", page.read_text("utf-8"))) for page in PAGES)
    return [(page, link) for page, text in texts for link in LINK.findall(text)]


def test_links_lead_somewhere() -> None:
    for page, link in links():
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{name_of(page)}: {link}"
        assert target.is_relative_to(ROOT), f"{name_of(page)}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)}: {link}"


def snippet_files(folder: Path) -> list[Path]:
    """Write every snippet that names its file into ``folder``."""
    paths = []
    for page in PAGES:
        for text in fences(page, "yaml"):
            if named := re.match(r"# file: (\S+)\n", text):
                paths.append(folder / named[1])
                assert not paths[-1].exists(), f"{named[1]} is used twice"
                paths[-1].write_text(text, encoding="utf-8")
    return paths


def test_atomic_files_in_the_documentation_are_valid(tmp_path: Path) -> None:
    kinds = {"catalog": 0, "price_book": 0, "problem": 0}
    for path in snippet_files(tmp_path):
        data = yaml.safe_load(path.read_text("utf-8"))
        if "catalog" in data:
            kinds["catalog"] += 1
            load_catalogs([path])
        elif "price_book" in data:
            kinds["price_book"] += 1
            load_prices([path], {})
        else:
            kinds["problem"] += 1
            _, findings = load_with_findings(path)
            assert [f.text() for f in findings if f.severity == "error"] == []
    assert all(kinds.values()), kinds


def test_problem_in_the_how_to_solves_with_its_own_catalog_and_prices(tmp_path: Path) -> None:

    snippet_files(tmp_path)
    only = "consider.storage_families=[acme_fs]"
    plan = solve(tmp_path / "site.yaml", settings=(only,))
    assert plan.status == "optimal"
    line = next(line for line in plan.lines if line.sku == "acme_flash_9")
    assert line.unit_net_usd == 168_000.0
    assert line.lead_time == "6 weeks"


def tutorial_commands(text: str) -> str:
    """Run the commands of one block in the current folder; return all that they said."""
    said = ""
    for line in whole_lines(text).splitlines():
        command, _, remark = line.removeprefix("$ planner ").partition("   # ")
        expected = int(found[1]) if (found := re.match(r"exit code (\d)", remark.strip())) else 0
        # The other solver's proof takes long, and tests/analysis/test_verification.py has it.
        words = [*shlex.split(command), *["--no-solve"] * command.startswith("verify plan/")]
        done = ran(*words)
        assert done.code == expected, f"{line}\n{done.err}"
        said += done.out
    return said


def test_the_tutorial_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files, commands and edit in their order; every figure it shows was on a screen."""
    page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    screens, shown = "", 0
    for language, text in FENCE.findall(page):
        if language == "console":
            screens += tutorial_commands(text)
        elif language == "yaml":
            named = re.match(r"# (?:file|save as): (\S+)\n", text)
            assert named, text
            Path(named[1]).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, "tutorial", "exec"), {})
        elif language == "text":
            figures = [word for word in text.split() if re.search(r"\d", word)]
            shown += len(figures)
            assert set(figures) <= set(screens.split()), set(figures) - set(screens.split())
    assert shown > 20
    written = (
        "first/lab.xlsx",
        "plan/lab.plan.json",
        "send/lab.customer.xlsx",
        "meeting/lab.comparison.html",
    )
    assert all(Path(name).stat().st_size for name in written)


@pytest.mark.exhaustive(keep=0)
def test_the_site_is_built_without_a_broken_link_and_opens_offline(tmp_path: Path) -> None:
    if importlib.util.find_spec("material") is None:  # .ci/run has it in another environment
        pytest.skip("the extra 'docs' is not installed")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    docs = {name_of(page).removeprefix("docs/").replace(".md", ".html") for page in PAGES}
    assert docs - {"README.html"} - {"adr/README.html"} <= pages
    assert {"index.html", "adr/index.html"} <= pages
    loaded = re.compile(r"<(?:script|img|iframe)[^>]*src=\"?https?:|<link[^>]*href=\"?https?:")
    for name in pages:
        assert not loaded.search((tmp_path / name).read_text("utf-8")), name


# Pages and decisions name files that are there.


def test_every_path_that_a_page_names_is_there() -> None:
    named = {
        (page.name, path)
        for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
        if page.name != "CHANGELOG.md"
        for path in re.findall(
            r"`((?:planner|tests|docs|catalogs|problems|schemas)/[\w./]*)`", page.read_text("utf-8")
        )
    }
    assert len(named) > 100
    assert [each for each in sorted(named) if not (ROOT / each[1]).exists()] == []


# The Python examples run and print figures.


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_a_plan(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path))
    printed = capsys.readouterr().out
    assert "PFLOP/s" in printed
    assert "nan" not in printed.lower()


# `.ci/smoke` tries each command in a process of its own: here that it leaves none out.


def test_every_command_is_tried_with_json_where_it_has_it() -> None:
    for name, command in make_commands.commands().items():
        has_json = any("--json" in option.opts for option in command.params)
        tried = [line for line in COMMANDS if line[2:].startswith(f"{name} ")]
        assert tried, name
        assert any("--json" in line for line in tried) == has_json, name
