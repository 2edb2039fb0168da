"""The same problem gives the same bytes: whichever machine, language, time zone and folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from planner import shipped

PROBLEM = shipped.problem_files()["full_bill"]
MAIN = "from planner.cli import main; main()"
SOLVE = "solve hall.yaml --also bill.csv,bill.json -o out"
COMMAND = f"umask {{}} && exec '{sys.executable}' -c '{MAIN}' {SOLVE}"
SETTINGS = (
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"},
    {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "LC_ALL": "POSIX", "LANG": "de_DE"},
)


def test_a_plan_is_the_same_everywhere(tmp_path: Path) -> None:
    made = []
    for place, umask, setting in zip(("a", "b/c d"), ("022", "077"), SETTINGS, strict=True):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        shutil.copy(PROBLEM, folder / "hall.yaml")
        done = subprocess.run(
            COMMAND.format(umask), shell=True, cwd=folder, check=True, capture_output=True,
            env={**os.environ, **setting},
        )  # fmt: skip
        files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
        ends = {name.partition(".")[2] for name in files}
        assert ends >= {"plan.json", "xlsx", "bill.csv", "bill.json"}
        made.append({"screen": done.stdout, **files})
    first, other = made
    assert [name for name in first if first[name] != other.get(name)] == []
