"""Every bad input gives one clear line with its place, exit code 2, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import copy
import io
import re
import shlex
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
import yaml

from planner import cli, process, shipped
from tests.bad_input.conftest import Answer, Runner
from tests.world.files import BILL_FILES, FILES, SOLVE, changed

INTERNAL = ("Traceback", "internal error", "pydantic", "<class", "NoneType", "Value error")
DEEP = "a: " + "[" * 5000 + "]" * 5000
BROKEN_FILES: dict[str, dict[str, str | bytes]] = {
    "empty": {"problem.yaml": ""},
    "a list": {"problem.yaml": "- 1\n"},
    "an unknown alias": {"problem.yaml": "name: *hall\n"},
    "deep": {"problem.yaml": DEEP},
    "control characters": {"problem.yaml": "name: a\x07b\n"},
    "a price book as catalog": {"own.yaml": FILES["book.yaml"]},
    "a catalog as price book": {"book.yaml": FILES["own.yaml"]},
    "binary": {"problem.yaml": b"\x00\x01\x02\xff"},
    "packed": {"problem.yaml": b"PK\x03\x04\x14\x00\x00\x00"},
    "latin 1": {"problem.yaml": "name: H\xf6lle\n".encode("latin-1")},
    "utf 16": {"problem.yaml": "name: hall\n".encode("utf-16")},
    "binary catalog": {"own.yaml": b"\x00\x01\x02\xff"},
}


class Row(NamedTuple):
    """One broken input: what is run on which files, and the message that it must give."""

    name: str
    files: dict[str, str]
    command: str
    place: str
    code: str
    fix: str
    lines: int

    def lay_out(self, folder: Path) -> None:
        """Write the files into ``folder``."""
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")


def read_row(line: str) -> Row:
    """Return the row of a line of the table."""
    texts = (part.replace("\\n", "\n").replace("\\x7c", "|") for part in line.split(" | "))
    name, file, old, new, place, code, fix = (text.replace("\\\\", "\\") for text in texts)
    files, command = FILES, SOLVE
    if file.startswith("$ "):
        command = file[2:]
    else:
        files = BILL_FILES if file.startswith("bill:") else FILES
        file = file.removeprefix("bill:")
        files = {**files, file: changed(files[file], old, new)}
    code, _, lines = code.partition(" x")
    return Row(name, files, command, place, code, fix, int(lines or 1))


LINES = (Path(__file__).parent / "table.txt").read_text("utf-8").splitlines()
ROWS = [read_row(line) for line in LINES if not line.startswith("#")]


def faults(row: Row, answer: Answer) -> list[str]:
    """Return what is wrong with the answer to a broken input."""
    said = answer.err.splitlines()
    place = f"planner: {row.place}: " if row.place else "planner: "
    found = [line for line in said if line.startswith(place) and row.fix in line]
    checks = {
        f"exit code {answer.exit_code}": answer.exit_code == 2,
        f"{len(said)} lines instead of {row.lines}": len(said) == row.lines,
        f"no {place!r} with {row.fix!r} [{row.code}]": any(
            line.endswith(f"[{row.code}]") for line in found
        ),
        "a line without 'planner: ' or [code]": all(
            re.fullmatch(r"planner: .* \[[a-z0-9-]+\]", line) for line in said
        ),
        "words of the inside": not any(word in answer.err for word in INTERNAL),
        "text on standard output": answer.out == "",
        "files left behind": answer.before == answer.after,
    }
    return [fault for fault, fine in checks.items() if not fine]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_bad_input_is_one_line_with_place_and_fix(row: Row, run: Runner, tmp_path: Path) -> None:
    row.lay_out(tmp_path)
    answer = run(shlex.split(row.command))
    assert faults(row, answer) == [], answer.err


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_broken_files_are_refused_in_a_line(name: str, run: Runner, tmp_path: Path) -> None:
    for file, content in {**FILES, **BROKEN_FILES[name]}.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    answer = run(shlex.split(SOLVE))
    (said,) = answer.err.splitlines()
    assert (answer.exit_code, answer.out, answer.before) == (2, "", answer.after)
    assert said.startswith(f"planner: {next(iter(BROKEN_FILES[name]))}")


@pytest.mark.parametrize("files", [FILES, BILL_FILES], ids=["hall", "bill"])
def test_files_of_the_table_have_a_plan(files: dict[str, str], run: Runner, tmp_path: Path) -> None:
    Row("sound", files, "", "", "", "", 0).lay_out(tmp_path)
    answer = run(["solve", "problem.yaml", "-q"])
    assert (answer.exit_code, answer.err) == (0, "")


# Good files damaged at random, in their text and in their data: plain lines, no traceback.


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
CASES = 10


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


def read_quickly(file: Path) -> Any:
    return yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)


def written(data: Any) -> str:
    return str(yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False))


def assert_plain(case: object) -> None:
    """Check the problem file: its errors are plain lines with a code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = process.run(partial(cli.app, ["check", "problem.yaml"]))
    said = out.getvalue() + err.getvalue()
    assert code in (0, 2), (case, said)
    refused = re.search(r"^(error|planner): .* \[[a-z0-9-]+\]$", said, re.MULTILINE)
    assert bool(refused) == (code == 2), (case, said)
    assert not re.search("Traceback|internal error|<class|object at 0x|pydantic", said), (
        case,
        said,
    )


@pytest.mark.parametrize("name", ["problem.yaml", "own.yaml", "book.yaml", "net.yaml"])
def test_damaged_text_makes_no_traceback(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    random = Random(f"damage of {name}")
    for case in range(3 * CASES):
        files = FILES if name in FILES and case % 2 else BILL_FILES
        for other, text in files.items():
            new = damaged(text, random) if other == name else text
            Path(other).write_text(new, "utf-8")
        assert_plain(case)


@pytest.mark.parametrize("kind", SHIPPED)
def test_replaced_values_make_no_traceback(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    random = Random(f"mutations of {kind}")
    for case in range(CASES):
        file = random.choice(SHIPPED[kind])
        data = mutated(read_quickly(file), random)
        if kind in ("catalog", "prices"):
            Path("own.yaml").write_text(written(data), "utf-8")
            data = read_quickly(SHIPPED["problem"][0])
            others = [each.stem for each in SHIPPED["catalog"] if each != file]
            data["catalogs"] = [*others, *(["own.yaml"] if kind == "catalog" else [])]
            data["prices"] = ["estimates_2026", *(["own.yaml"] if kind == "prices" else [])]
        Path("problem.yaml").write_text(written(data), "utf-8")
        assert_plain((file.name, case))
