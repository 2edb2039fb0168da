"""Good files damaged at random, in their text and in their data: plain lines, no traceback."""

from __future__ import annotations

import contextlib
import copy
import io
import re
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from planner import cli, shipped
from tests.world.files import BILL_FILES, FILES

PIECES = (
    "\t", "\n", ":", "- ", "{", "}", "[", "]", '"', "'", "#", "&a ", "*a", "!!x ", "%", "null",
    ".nan", "1e999", "0x1F", "1_000", "10 MW", "12 Gb/s", "é", "\u2028", "😀", "\x00", "\x1b[31m",
    "<<: ", "---\n", "9" * 400,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 10**400, 1e308, float("nan"), float("inf"), "", "10 MW", "5 s",
    "70 B", "-5 %", "1e999", "0x1F", "\u202e", "a" * 5000, [], {}, [[]], {"policy": 1}, [None],
    "2026-13-45", "0000", "*", "/dev/zero", "1 XXX", "1e-30 s", {"value": "3 GB/s", "source": "n"},
)  # fmt: skip
SHIPPED = {
    "problem": list(shipped.problem_files().values()),
    "portfolio": list(shipped.portfolio_files().values()),
    "catalog": list(shipped.catalog_files().values()),
    "prices": list(shipped.price_files().values()),
}
CASES = 15


def damaged(text: str, random: Random) -> str:
    """A text with one to four places deleted, doubled or replaced, or lines swapped."""
    for _ in range(random.randint(1, 4)):
        start = random.randint(0, len(text))
        end = min(len(text), start + random.randint(1, 12))
        new = random.choice(("", text[start:end] * 2, random.choice(PIECES)))
        text = text[:start] + new + text[end:]
        lines = text.split("\n")
        one, other = random.choices(range(len(lines)), k=2)
        if random.random() < 0.3:
            lines[one], lines[other] = lines[other], lines[one]
        elif random.random() < 0.3:
            lines[one] = re.sub(
                r": .*", f": {random.choice(('-1', '5 s', '[]', '{}'))}", lines[one]
            )
        text = "\n".join(lines)
    return text


def places(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The path of every part of some data."""
    parts: Any = data.items() if isinstance(data, dict) else ()
    parts = enumerate(data) if isinstance(data, list) else parts
    return [path, *(below for key, part in parts for below in places(part, (*path, key)))]


def mutated(data: Any, random: Random) -> Any:
    """Data with one to three parts replaced, deleted, renamed, wrapped or doubled."""
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


def assert_plain(case: object) -> None:
    """Check the problem file: its errors are plain lines with a code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli._run(partial(cli.app, ["check", "problem.yaml"]))
    said = out.getvalue() + err.getvalue()
    assert code in (0, 2), (case, said)
    refused = re.search(r"^(error|planner): .* \[[a-z0-9-]+\]$", said, re.MULTILINE)
    assert bool(refused) == (code == 2), (case, said)
    assert not re.search("Traceback|internal error|<class|object at 0x|pydantic", said), (
        case,
        said,
    )


@pytest.mark.parametrize("name", ["problem.yaml", "own.yaml", "book.yaml", "net.yaml"])
def test_damaged_text(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = Random(f"damage of {name}")
    for case in range(2 * CASES):
        files = FILES if name in FILES and case % 2 else BILL_FILES
        for other, text in files.items():
            new = damaged(text, random) if other == name else text
            Path(other).write_text(new, "utf-8")
        assert_plain(case)


@pytest.mark.parametrize("kind", SHIPPED)
def test_shipped_files_with_replaced_parts(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    random = Random(f"mutations of {kind}")
    for case in range(CASES):
        file = random.choice(SHIPPED[kind])
        data = mutated(yaml.safe_load(file.read_text("utf-8")), random)
        if kind in ("catalog", "prices"):
            Path("own.yaml").write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
            data = yaml.safe_load(SHIPPED["problem"][0].read_text("utf-8"))
            others = [each.stem for each in SHIPPED["catalog"] if each != file]
            data["catalogs"] = [*others, *(["own.yaml"] if kind == "catalog" else [])]
            data["prices"] = ["estimates_2026", *(["own.yaml"] if kind == "prices" else [])]
        Path("problem.yaml").write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
        assert_plain((file.name, case))
