"""Files: read with limits, since others write them; written whole or not at all.

**Reading**: only plain files are opened, and none larger than its reader can bear. A device, a pipe
or a socket may never end. JSON is taken only where all readers of it find the same. A workbook is a
zip file that can unpack to anything: its parts are counted before it is read.

**Writing**: made complete beside their place, then renamed. A link stays and the file behind it is
replaced. Folders, pipes, devices and sockets are refused.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from planner.errors import Finding, InputError, PlannerError, did_you_mean

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

MISSING = "there is no such file"


def regular(path: Path, *, most_bytes: int, what: str, missing: str = MISSING) -> None:
    """Refuse all but a plain file; links are followed.

    Args:
        path: the file.
        most_bytes: the largest size that its reader can bear.
        what: the kind of file, such as "trace"; also the code of its findings.
        missing: the message where it does not exist.

    Raises:
        InputError: it does not exist, is no plain file, or is larger.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise _unreachable(path, error, what, missing) from None
    if not stat.S_ISREG(found.st_mode):
        folder = stat.S_ISDIR(found.st_mode)
        kind = "a folder" if folder else "a pipe, a device or a socket"
        fix = "name a file in it" if folder else "write its content into a file first"
        raise _refused(path, f"is {kind}, not a file", what, fix)
    if found.st_size > most_bytes:
        raise _too_large(path, most_bytes, what)


def contents(path: Path, *, most_bytes: int, what: str, missing: str = MISSING) -> bytes:
    """All of a plain file that is read at once.

    No more is read than is allowed: some files of the system claim to be empty and never end.

    Raises:
        InputError: it cannot be read, is no plain file, or is larger.
    """
    regular(path, most_bytes=most_bytes, what=what, missing=missing)
    try:
        with path.open("rb") as stream:
            found = stream.read(most_bytes + 1)
    except OSError as error:
        raise _unreachable(path, error, what, missing) from None
    if len(found) > most_bytes:
        raise _too_large(path, most_bytes, what)
    return found


def json_of(data: bytes, name: str, fix: str) -> Any:
    """The data of a JSON file, with or without a byte order mark.

    Args:
        data: the bytes of the file.
        name: its name in messages.
        fix: the file that would be right.

    Raises:
        InputError: it is no JSON, or has a duplicate key: of its two values one reader takes the
            first, another the last.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            message = f"duplicate key '{next(k for k in keys if keys.count(k) > 1)[:60]}'"
            raise InputError(Finding("duplicate-key", message, name, fix="keep one of them"))
        return found

    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        message = f"this is no JSON: {error.msg.lower()}"
        raise InputError(Finding("json", message, name, error.lineno, fix=fix)) from None
    except (ValueError, RecursionError):  # bytes that are no text, or brackets without end
        raise InputError(Finding("json", "this is no JSON", name, fix=fix)) from None


def _refused(path: Path, message: str, what: str, fix: str | None = None) -> InputError:
    return InputError(Finding(what.replace(" ", "-"), message, str(path), fix=fix))


def _unreachable(path: Path, error: Exception, what: str, missing: str) -> InputError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        fix = nearest_file(path) or "check the path, or where its link leads"
        return InputError(Finding("not-found", missing, str(path), fix=fix))
    reason = getattr(error, "strerror", None) or str(error)
    return _refused(path, f"cannot be read: {reason.lower()}", what, "name a readable file")


def _too_large(path: Path, most: int, what: str) -> InputError:
    message = f"is larger than {in_words(most)}, the most that a {what} may have"
    return _refused(path, message, what, "give less of it")


def shorten_path(path: Path) -> str:
    """``path`` as the user would write it: relative where that is shorter."""
    try:
        return str(Path(os.path.abspath(path)).relative_to(Path.cwd()))  # noqa: PTH100 (links stay)
    except (ValueError, OSError):
        return str(path)


def nearest_file(path: Path) -> str | None:
    """A hint at files beside a missing one whose names are nearly its own."""
    try:
        beside = [each for each in path.parent.iterdir() if each.is_file()]
    except (OSError, ValueError):
        return None
    if not path.suffix:
        return did_you_mean(path.name, [each.name for each in beside])
    return did_you_mean(path.stem, [each.stem for each in beside if each.suffix == path.suffix])


def in_words(size: int) -> str:
    """A number of bytes in the largest unit that fits."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} bytes"


# Workbooks.

NO_VALUE = "a formula without a value"
"""Value of a cell whose formula no program computed."""

_OLE = b"\xd0\xcf\x11\xe0"
_MOST_FILE_BYTES, _MOST_BYTES = 50_000_000, 150_000_000
"""Limits of the file and of its unpacked size; planner's own have a hundredth of them."""
_MOST_PARTS = 3000
_ALL, _COMPUTED, _RANGES = "all elements", "computed formulas", "cells of ranges"
_MOST = {
    "c": (500_000, "cells"),
    "sheet": (300, "sheets"),
    _ALL: (3_000_000, "elements"),
    _RANGES: (100_000, "cells that are merged or linked"),  # read one by one
}
"""Limits of counts, and their names in messages."""
_PIECE = 1 << 20
_WIDEST, _LONGEST = 16_384, 1_048_576
_AGAIN = "open it in the spreadsheet program and save it again as .xlsx"


def open_xlsx(path: Path, *, without: str, shown: bool = False) -> Workbook:
    """The workbook at a path.

    Args:
        path: the file.
        without: the fix where it holds more than can be read.
        shown: the last shown values of cells instead of their formulas; ``NO_VALUE`` in those with
            a formula that no program computed.

    Raises:
        InputError: it cannot be read, is protected by a password, or is too large.
    """
    name = str(path)
    if contents(path, most_bytes=_MOST_FILE_BYTES, what="workbook")[:4] == _OLE:
        message = "the workbook is protected with a password, or an old .xls file"
        fix = "save it without the password, as .xlsx"
        raise InputError(Finding("workbook", message, name, fix=fix))
    with reading(name):
        counts = _count_parts(path, name, without)
        book = load_bytes(path, shown=shown)
        if shown and counts["f"] and not counts[_COMPUTED]:
            for sheet in load_bytes(path).worksheets:
                for place, cell in sheet._cells.items():
                    if cell.data_type == "f":
                        book[sheet.title].cell(*place).value = NO_VALUE
    return book


def load_bytes(stream: Any, *, shown: bool = False) -> Workbook:
    """A workbook with its formulas; the reader's remarks about its own limits are dropped.

    Args:
        stream: an open file or its path.
        shown: the last shown values of cells instead of their formulas.
    """
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return openpyxl.load_workbook(stream, data_only=shown)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn any error of reading a workbook into one line: other tools' files fail in any way.

    Raises:
        InputError: the file ``name`` cannot be read.
    """
    try:
        yield
    except (PlannerError, MemoryError):
        raise
    except Exception as error:
        detail = str(error).split("\n")[0][:80]
        message = f"the file is damaged, or no .xlsx workbook ({type(error).__name__}: {detail})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN)) from None


def _count_parts(path: Path, name: str, without: str) -> Counter[str]:
    """Counts of elements of a whole, open xlsx file; refuse more than fits in memory."""
    counts, excess = Counter[str](), ""
    with zipfile.ZipFile(path) as archive:
        parts = {info.filename: info.file_size for info in archive.infolist()}
        if sum(parts.values()) > _MOST_BYTES:
            excess = f"the workbook unpacks to more than {in_words(_MOST_BYTES)}"
        elif len(parts) > _MOST_PARTS:
            excess = f"the workbook has {len(parts):,} parts, more than {_MOST_PARTS:,}"
        for part in parts if not excess else ():
            if not excess and part.endswith((".xml", ".rels", ".vml")):
                excess = _count(archive, part, counts)
        broken = None if excess else archive.testzip()
    if excess:
        raise InputError(Finding("too-large", f"{excess}; nothing is read", name, fix=without))
    if broken is not None or "xl/workbook.xml" not in parts:
        message = "a zip file, but no .xlsx workbook"
        message = message if broken is None else f"the file is damaged (in {broken})"
        raise InputError(Finding("workbook", message, name, fix=_AGAIN))
    return counts


def _count(archive: zipfile.ZipFile, part: str, counts: Counter[str]) -> str:
    """Add the elements of a part to the counts; return the excess, empty where it fits in memory.

    Of formulas ``_COMPUTED`` have a value other than 0, which libraries store with every formula.
    """
    last = ["", ""]

    def begin(name: str, attributes: Mapping[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        last[:] = last[1], tag
        counts[_ALL] += 1
        counts[tag] += 1
        counts[_COMPUTED] += tag == "c" and attributes.get("t") in ("str", "e", "b")
        if tag in ("mergeCell", "hyperlink"):
            counts[_RANGES] += _size(attributes.get("ref", ""))

    def text(words: str) -> None:
        counts[_COMPUTED] += last == ["f", "v"] and words.strip() not in ("", "0")
        last[1] = ""

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.CharacterDataHandler = begin, text
    parser.EntityDeclHandler = _refuse_entities
    with archive.open(part) as stream:
        while piece := stream.read(_PIECE):
            parser.Parse(piece)
            for key, (most, label) in _MOST.items():
                if counts[key] > most:
                    return f"the workbook has more than {most:,} {label}"
    return ""


def _refuse_entities(*_: object) -> None:
    raise expat.ExpatError("it declares entities")


def _size(reference: str) -> int:
    """Number of cells of a range; 0 of anything else."""
    from openpyxl.utils import range_boundaries

    try:
        left, top, right, bottom = range_boundaries(reference)
    except (ValueError, TypeError):
        return 0
    return ((right or _WIDEST) - (left or 1) + 1) * ((bottom or _LONGEST) - (top or 1) + 1)


# Writing.

OTHER_FOLDER = "choose another folder with -o"
OTHER_NAME = "choose another name"

put_in_place: list[Path] = []
"""Files that this process has written, in order."""

_FIXES = {
    errno.ENOSPC: "free some space, or {}",
    errno.EDQUOT: "free some space, or {}",
    errno.EISDIR: "remove that folder, or {}",
    errno.EEXIST: "a folder is needed where a file is: {}",
    errno.ENOTDIR: "a folder is needed where a file is: {}",
}


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write every file, or none; missing folders are made.

    Raises:
        InputError: a folder or file cannot be written, or the disk is full.
    """
    with whole(tuple(contents)) as temporaries:
        for temporary, (path, data) in zip(temporaries, contents.items(), strict=True):
            with _naming(path, OTHER_FOLDER):
                temporary.write_bytes(data)


@contextmanager
def whole(targets: Sequence[Path], elsewhere: str = OTHER_FOLDER) -> Iterator[list[Path]]:
    """Yield a temporary file for each target; rename all of them at the end, unless it raises.

    Args:
        targets: the files; missing folders are made.
        elsewhere: the fix where a name cannot be written to.

    Raises:
        InputError: a file cannot be written, or the disk is full.
    """
    made: list[Path] = []
    ready: dict[Path, Path] = {}
    try:
        for target in targets:
            with _naming(target, elsewhere):
                made += [each for each in target.parents if not each.exists()][::-1]
                target.parent.mkdir(parents=True, exist_ok=True)
                real = _real_path(target)
                ready[target] = real.with_name(f".{real.name[:40]}.{secrets.token_hex(4)}")
                ready[target].open("xb").close()
        with _naming(targets[0] if len(targets) == 1 else targets[0].parent, elsewhere):
            yield list(ready.values())
        for target, temporary in ready.items():
            with _naming(target, elsewhere):
                temporary.replace(_real_path(target))
        put_in_place.extend(ready)
    except BaseException:
        for left in (*ready.values(), *reversed(made)):
            with contextlib.suppress(OSError):
                left.rmdir() if left in made else left.unlink(missing_ok=True)
        raise


def remove(path: Path) -> None:
    """Remove a plain file of an earlier run, if it exists."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(path.lstat().st_mode):
            path.unlink()


@contextmanager
def _naming(path: Path, elsewhere: str) -> Iterator[None]:
    """Turn any error of the system into one line about ``path``."""
    try:
        yield
    except RecursionError:  # pathlib calls itself for each folder that it makes
        message = "cannot write: too many folders in one another"
        raise InputError(Finding("unwritable", message, str(path), fix=elsewhere)) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        fix = _FIXES.get(error.errno or 0, "{}").format(elsewhere)
        if isinstance(error, PermissionError) and path.is_file():
            fix = f"close it where it is open, or {elsewhere}"
        raise InputError(
            Finding("unwritable", f"cannot write: {reason}", str(path), fix=fix)
        ) from None


def _real_path(path: Path) -> Path:
    """The plain file behind a path, links followed; OSError of a folder, pipe, device or socket."""
    if path.is_relative_to("/dev") or path.is_relative_to("/proc"):
        raise OSError(errno.EINVAL, "a device or a stream, not a file")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:  # also a link to a missing file
        return Path(os.path.realpath(path))
    if not stat.S_ISREG(mode):
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "there is a folder of this name")
        raise OSError(errno.EINVAL, "a pipe, device or socket, not a file")
    return Path(os.path.realpath(path))
