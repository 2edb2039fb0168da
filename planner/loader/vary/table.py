"""Tables of scenarios: CSV files with paths in the first line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from planner.errors import Finding, InputError
from planner.foreign_files import regular
from planner.loader import yaml12

NAME = "name"
_MOST_BYTES, _MOST_CELLS = 50_000_000, 4_000_000
"""A table is kept in memory; more scenarios are asked for with --vary."""

_FIX = "begin with a line of paths, such as site.facility_power,storage.rule"


@dataclass(frozen=True)
class Table:
    """The scenarios of a file: paths, and a line number, a name and texts for each."""

    file: str
    header: tuple[str, ...]
    lines: tuple[int, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_table(path: Path) -> Table:
    """Return the scenarios of a CSV file: paths in the first line, then a scenario a line.

    A first column ``name`` names them. Lines without anything in them are passed over.

    Raises:
        InputError: the file cannot be read, has no paths or no scenarios.
    """
    file = yaml12.shown(path)
    lines = [
        (number, [cell.strip() for cell in row])
        for number, row in _numbered(path, file)
        if any(cell.strip() for cell in row)
    ]
    named = bool(lines) and lines[0][1][0] == NAME
    header = lines[0][1][named:] if lines else []
    rows = lines[1:]
    if not header or not rows:
        what = "scenarios" if header else "paths"
        raise InputError(Finding("scenario", f"the table has no {what}", file, fix=_FIX))
    return Table(
        file=file,
        header=tuple(header),
        lines=tuple(number for number, _ in rows),
        names=tuple(row[0] for _, row in rows) if named else (),
        rows=tuple(tuple(row[named:]) for _, row in rows),
    )


def _numbered(path: Path, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file with the line each begins in."""
    what = "table of scenarios"
    try:
        regular(path, most_bytes=_MOST_BYTES, what=what, missing=f"no such {what}")
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader, line, cells = csv.reader(stream, strict=True), 1, 0
            for row in reader:
                cells += max(1, len(row))
                if cells > _MOST_CELLS:
                    message = f"the {what} has more than {_MOST_CELLS:,} cells"
                    raise InputError(Finding("too-large", message, file, fix="give less of it"))
                yield line, row
                line = reader.line_num + 1
    except InputError as error:
        raise InputError([replace(finding, file=file) for finding in error.findings]) from None
    except OSError as error:
        message = f"cannot read the {what}: {(error.strerror or 'no file').lower()}"
        raise InputError(Finding("unreadable", message, file)) from None
    except ValueError:
        raise InputError(Finding("not-text", f"a {what} is CSV in UTF-8", file)) from None
    except csv.Error as error:
        message = f"not readable as CSV: {error}"
        raise InputError(Finding("csv", message, file, reader.line_num)) from None
