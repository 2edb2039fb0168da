"""Everything a user sees of the shipped problems, as text: to compare before and after a change.

    python -m tests.pins before          # on the old tree
    python -m tests.pins after           # on the new one
    diff -r before after

Screens, JSON, CSV, the text of HTML pages, and every cell of every workbook (value, formula, number
format), for both audiences and all studies. Pictures stand as a checksum. ``--only 'report*'`` runs
the commands whose name fits; what they need of others is run, too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import openpyxl

PROBLEMS = Path(__file__).resolve().parents[1] / "problems"
SHIPPED = sorted(path.stem for path in PROBLEMS.glob("*.yaml"))
SMALL, LARGE = "enterprise_1MW", "10MW"
EXITS = (0, 3)

COMMANDS = "solve check compare verify explain size characterize simulate sweep init catalog"
HELPS = ("", *COMMANDS.split(), "quote import", "quote rfq", "quote bid")
SCHEMAS = sorted(path.name.split(".")[0] for path in (PROBLEMS.parent / "schemas").glob("*.json"))


def runs() -> Iterator[tuple[str, str]]:
    """Yield every command by name, in an order in which each finds the files it needs."""
    for command in HELPS:
        yield f"help {command}".strip().replace(" ", "_"), f"{command} --help"
    for name in SCHEMAS:
        yield f"schema_{name}", f"check --schema {name}"
    yield "catalog_list", "catalog"
    yield "catalog_show", "catalog wekapod_nitro_155"
    for name in SHIPPED:
        yield f"solve_{name}", f"solve {name}.yaml --also bill.csv,bill.json --html"
        yield f"solve_json_{name}", f"solve {name}.yaml --json --quiet -o json"
        yield f"customer_{name}", f"solve {name}.yaml --audience customer --also bill.csv"
        yield f"check_{name}", f"check {name}.yaml"
        yield f"size_{name}", f"size {name}.yaml"
    for name in (LARGE, SMALL, "full_bill"):
        yield f"verify_{name}", f"verify {name}.plan.json --no-solve"
        yield f"audit_{name}", f"verify {name}.xlsx --no-solve"
        yield f"explain_{name}", f"explain {name}.yaml -o ."
    yield "explain_json", f"explain {SMALL}.yaml --json"
    yield "explain_no_plan", "explain infeasible_restore.yaml -o ."
    yield "explain_no_plan_json", "explain infeasible_restore.yaml --json"
    yield "compare", f"compare {LARGE}.plan.json light_rule.plan.json -o ."
    yield "compare_rules", f"compare --rules {SMALL}.yaml -o ."
    yield "alternatives", f"compare --near '1 %' {SMALL}.yaml -o ."
    power, mfu = "site.facility_power=8MW:10MW:0.5MW", "jobs.0.training.mfu=0.35,0.4"
    yield "sweep", f"sweep {LARGE}.yaml --vary {power} --vary {mfu}"
    axes = "--against storage --against cost"
    yield "frontier", f"sweep --mode frontier {LARGE}.yaml --points 8 {axes} -o ."
    yield "tornado", f"sweep --mode tornado {LARGE}.yaml -o ."
    yield "uncertain", f"sweep --mode uncertain {LARGE}.yaml --samples 24 --workers 1 -o ."
    yield "simulate", f"simulate {LARGE}.plan.json --replications 50 -o ."


def cells(path: Path) -> Iterator[str]:
    """Yield every cell of a workbook that says something: value, formula and number format."""
    shown = openpyxl.load_workbook(path, data_only=True)
    for sheet in openpyxl.load_workbook(path):
        yield f"# {sheet.title} {sheet.sheet_state}"
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value is None:
                    continue
                value = shown[sheet.title][cell.coordinate].value
                formula = f" {cell.value}" if cell.data_type == "f" else ""
                yield f"{cell.coordinate} [{cell.number_format}] {value!r}{formula}"
        for each in sheet.conditional_formatting:
            yield from (f"condition {each.sqref} {rule.type} {rule.formula}" for rule in each.rules)
    for name, place in shown.defined_names.items():
        yield f"name {name} {place.attr_text}"


def text_of(path: Path) -> Iterable[str]:
    """Return a file as lines of text."""
    if path.suffix == ".xlsx":
        return cells(path)
    if path.suffix == ".html":
        page = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]+>", "\n", path.read_text("utf-8"))
        return [" ".join(line.split()) for line in page.splitlines() if line.strip()]
    if path.suffix in (".png", ".svg"):
        return [hashlib.sha256(path.read_bytes()).hexdigest()]
    if path.suffix == ".json":
        return json.dumps(json.loads(path.read_text("utf-8")), indent=1).splitlines()
    return path.read_text("utf-8").splitlines()


def pin(out: Path, wanted: str) -> None:
    """Run the commands and write what each shows and leaves behind."""
    planner = Path(sys.executable).parent / "planner"
    out.mkdir(parents=True, exist_ok=True)
    names = {name for name, _ in runs() if fnmatch(name, wanted)}
    if not all(name.startswith("solve") for name in names):  # they may need files of plans
        names |= {name for name, _ in runs() if name.startswith("solve")}
    environment = {**os.environ, "COLUMNS": "100", "OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        shutil.copytree(PROBLEMS, here, dirs_exist_ok=True)
        seen = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
        for name, command in runs():
            if name not in names:
                continue
            done = subprocess.run(
                f"{planner} {command}", shell=True, cwd=here, env=environment,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            text = f"$ planner {command}\nexit {done.returncode}\n{done.stdout}\n--\n{done.stderr}"
            (out / f"{name}.txt").write_text(text.replace(folder, "FOLDER"), "utf-8")
            if done.returncode not in EXITS:
                print(f"{name}: exit code {done.returncode}", file=sys.stderr)
            for path in sorted(here.rglob("*")):
                if not path.is_file() or path.suffix == ".parquet":
                    continue
                body = path.read_bytes()
                if seen.get(path) == body:
                    continue
                seen[path] = body
                place = re.sub(r"[/ ]", "_", str(path.relative_to(here)))
                text = "\n".join(text_of(path)).replace(folder, "FOLDER")
                (out / f"{name}..{place}.txt").write_text(f"{text}\n", "utf-8")


def main() -> None:
    """Pin what the arguments ask for."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--only", default="*")
    given = arguments.parse_args()
    pin(given.out, given.only)


if __name__ == "__main__":
    main()
