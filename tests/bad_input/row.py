"""One broken input each: what is run on which files, and what must be said about it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.world.files import BILL_FILES, BOOK, CATALOG, FILES, PROBLEM, SOLVE, changed, line_of


@dataclass(frozen=True)
class Row:
    """One broken input: what is run on which files, and what must be said about it.

    ``at`` is a file and words of the line the message must point to, or only a file;
    ``wrong`` and ``right`` are regular expressions of the message.
    """

    name: str
    wrong: str
    right: str
    at: tuple[str, str] | str | None = None
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    command: str = SOLVE
    lines: int = 1

    def arguments(self) -> list[str]:
        """Return the words of the command line."""
        return shlex.split(self.command)

    def place(self) -> str:
        """Return how the message names the place: ``file:line: `` or ``file: `` or nothing."""
        if self.at is None:
            return ""
        if isinstance(self.at, str):
            return f"{self.at}: "
        file, words = self.at
        return f"{file}:{line_of(self.contents()[file], words)}: "

    def contents(self) -> dict[str, str | bytes]:
        """Return the files of this row: the valid ones, and the broken ones over them."""
        return {**FILES, **self.files}

    def lay_out(self, folder: Path) -> None:
        """Write the files into ``folder``."""
        for name, content in self.contents().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def problem(
    name: str, old: str, new: str, *, wrong: str, right: str, at: str | None = None, lines: int = 1
) -> Row:
    """Return a row that breaks the problem file; ``at`` defaults to the first new line."""
    return _edited("problem.yaml", PROBLEM, name, (old, new), wrong, right, at, lines)


def catalog(
    name: str, old: str, new: str, *, wrong: str, right: str, at: str | None = None, lines: int = 1
) -> Row:
    """Return a row that breaks the catalog."""
    return _edited("own.yaml", CATALOG, name, (old, new), wrong, right, at, lines)


def book(
    name: str, old: str, new: str, *, wrong: str, right: str, at: str | None = None, lines: int = 1
) -> Row:
    """Return a row that breaks the price book."""
    return _edited("book.yaml", BOOK, name, (old, new), wrong, right, at, lines)


def _edited(
    file: str,
    text: str,
    name: str,
    edit: tuple[str, str],
    wrong: str,
    right: str,
    at: str | None,
    lines: int,
) -> Row:
    words = at if at is not None else edit[1].strip("\n").split("\n")[0]
    content = {file: changed(text, *edit)}
    return Row(name, wrong, right, at=(file, words), files=content, lines=lines)


Place = str | tuple[str, str] | None
"""Words of the line that is pointed at, or of another file's; by default the first new line."""


def bill(name: str, old: str, new: str, wrong: str, right: str, at: Place = None) -> Row:
    """Return a row that breaks the problem file; ``wrong`` and ``right`` are taken literally."""
    return _broken("problem.yaml", name, (old, new), wrong, right, at)


def net(name: str, old: str, new: str, wrong: str, right: str, at: Place = None) -> Row:
    """Return a row that breaks the catalog of the network."""
    return _broken("net.yaml", name, (old, new), wrong, right, at)


def own(name: str, old: str, new: str, wrong: str, right: str, at: Place = None) -> Row:
    """Return a row that breaks the catalog of systems and storage."""
    return _broken("own.yaml", name, (old, new), wrong, right, at)


def sold(name: str, old: str, new: str, wrong: str, right: str, at: Place = None) -> Row:
    """Return a row that breaks the price book of the network."""
    return _broken("net_book.yaml", name, (old, new), wrong, right, at)


def _broken(file: str, name: str, edit: tuple[str, str], wrong: str, right: str, at: Place) -> Row:
    words = edit[1].strip("\n").split("\n")[0] if at is None else at
    place = words if isinstance(words, tuple) else (file, words)
    files = BILL_FILES | {file: changed(BILL_FILES[file], *edit)}
    return Row(name, re.escape(wrong), re.escape(right), at=place, files=files)


Edit = tuple[str, str, str]
"""A row's name, what stands there instead, and what is said of it: wrong; right."""


def edits(make: Callable[..., Row], old: str, *changes: Edit) -> tuple[Row, ...]:
    """Return rows that put something else in one place, on a line of its own."""
    rows = []
    for name, new, says in changes:
        cut = next((mark for mark in ("; ", ": expected") if mark in says), ", found")
        wrong, _, right = says.rpartition(cut)
        rows.append(make(name, old, new, wrong or says, right))
    return tuple(rows)
