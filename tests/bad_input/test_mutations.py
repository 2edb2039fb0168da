"""Values, keys and parts of shipped files replaced at random: one clear line, no traceback."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from planner import shipped
from tests.bad_input.test_fuzz import ending

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 10**400, 1e308, float("nan"), float("inf"), "", "10 MW", "5 s",
    "70 B", "-5 %", "1e999", "0x1F", "\u202e", "a" * 5000, [], {}, [[]], {"policy": 1}, [None],
    "2026-13-45", "*", "/dev/zero", "1 XXX", "1e-30 s", {"value": "3 GB/s", "source": "nope"},
)  # fmt: skip
FILES = {
    "problem": list(shipped.problem_files().values()),
    "portfolio": list(shipped.portfolio_files().values()),
    "catalog": list(shipped.catalog_files().values()),
    "prices": list(shipped.price_files().values()),
}
CASES = 15


def places(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the path of every part of some data."""
    parts: Any = data.items() if isinstance(data, dict) else ()
    parts = enumerate(data) if isinstance(data, list) else parts
    return [path, *(below for key, part in parts for below in places(part, (*path, key)))]


def mutated(data: Any, random: Random) -> Any:
    """Return data with one to three parts replaced, deleted, renamed, wrapped or doubled."""
    data = copy.deepcopy(data)
    for _ in range(random.choice((1, 1, 2, 3))):
        *above, key = random.choice(places(data)[1:])
        part = data
        for step in above:
            part = part[step]
        kind = random.choice(("value", "value", "delete", "rename", "wrap", "double"))
        if kind == "value":
            part[key] = copy.deepcopy(random.choice(VALUES))
        elif kind == "delete":
            del part[key]
        elif kind == "rename" and isinstance(part, dict):
            part[random.choice(("name", "policy", "", "x y", "1"))] = part.pop(key)
        elif kind == "double" and isinstance(part, list):
            part.insert(int(key), copy.deepcopy(part[int(key)]))
        else:
            part[key] = [part[key]]
        if not data:
            break
    return data


@pytest.mark.parametrize("kind", FILES)
def test_shipped_files_with_replaced_parts(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    random = Random(f"mutations of {kind}")
    for _ in range(CASES):
        file = random.choice(FILES[kind])
        data = mutated(yaml.safe_load(file.read_text("utf-8")), random)
        if kind in ("catalog", "prices"):
            Path("own.yaml").write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
            data = yaml.safe_load(FILES["problem"][0].read_text("utf-8"))
            others = [each.stem for each in FILES["catalog"] if each != file]
            data["catalogs"] = [*others, *(["own.yaml"] if kind == "catalog" else [])]
            data["prices"] = ["estimates_2026", *(["own.yaml"] if kind == "prices" else [])]
        Path("problem.yaml").write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
        code, out, err = ending(["check", "problem.yaml"])
        said = out + err
        assert code in (0, 2), said
        assert bool(re.search(r"^(error|planner): .* \[[a-z-]+\]$", said, re.M)) == (code == 2), (
            said
        )
        assert not re.search("Traceback|internal error|<class|object at 0x|pydantic", said), said
