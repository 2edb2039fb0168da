"""Traces in HDF5: time series of TOKIO, and the older files of the Lustre Monitoring Tool.

Layouts: github.com/NERSC/pytokio, ``tokio/connectors/hdf5.py``. Rates are bytes per second, one
column per storage target; they are added up.

A file may claim any size, and point to other files: what it claims is looked at before it is read,
data outside of it are not followed, and tables are read in stripes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import InputError
from planner.foreign_files import in_words, regular
from planner.telemetry.columns import as_said, parse_unit
from planner.telemetry.raw import (
    DATED_FROM_S,
    LAST_S,
    MOST_SAMPLES,
    Numbers,
    Raw,
    ReadOptions,
    refusal,
    too_long,
    unreadable,
)

_ENDINGS = {".hdf5", ".h5", ".h5lmt"}
_START = b"\x89HDF\r\n\x1a\n"
_MOST_BYTES = 64_000_000_000
_MOST_CHUNK_BYTES, _STRIPE_BYTES = 256_000_000, 64_000_000
_MOST_CLAIMED_BYTES, _MOST_UNPACKED = 1_000_000_000, 1_100
"""Beyond the first a table must not claim more than deflate can unpack from a file of its size."""

_LMT = (
    "FSStepsGroup/FSStepsDataSet",
    "OSTWriteGroup/OSTBulkWriteDataSet",
    "OSTReadGroup/OSTBulkReadDataSet",
)
_LMT_MISSING = "FSMissingGroup/FSMissingDataSet"
_GROUPS = ("datatargets", "fullblocks", "mdtargets")
_TOKIO = (("writerates", "readrates", True), ("writebytes", "readbytes", False))


def is_one(path: Path) -> bool:
    """Return whether a file is HDF5, by its ending or how it begins."""
    if path.suffix.lower() in _ENDINGS:
        return True
    regular(path, most_bytes=_MOST_BYTES, what="trace")
    try:
        with path.open("rb") as stream:
            return stream.read(len(_START)) == _START
    except OSError as error:
        raise unreadable(path, error) from None


def read(path: Path, options: ReadOptions) -> Iterator[Raw]:
    """Yield the one cluster of a file; its columns have fixed names, its unit is bytes unless said.

    Raises:
        InputError: it cannot be read, or has neither layout.
    """
    import h5py

    regular(path, most_bytes=_MOST_BYTES, what="trace")
    try:
        with h5py.File(path, "r") as file:
            found = _tokio(file, path, options) or _lmt(file, path, options)
    except InputError:
        raise
    # h5py lets pass whatever a broken file makes go wrong.
    except (OSError, RuntimeError, TypeError, ValueError, KeyError, MemoryError) as error:
        raise unreadable(path, error) from None
    if found is None:
        message = "neither a TOKIO time series nor a file of the Lustre Monitoring Tool"
        fix = "it needs datatargets/writerates (or writebytes) with datatargets/timestamps"
        raise refusal(path, message, fix)
    yield found


def _tokio(file: Any, path: Path, options: ReadOptions) -> Raw | None:
    for group in _GROUPS:
        for write, read_, is_rate in _TOKIO:
            written = _dataset(file, f"{group}/{write}", path)
            if written is not None:
                time = _times(file, group, written, path)
                reads = _dataset(file, f"{group}/{read_}", path)
                return _raw(path, time, (written, reads), is_rate, options)
    return None


def _lmt(file: Any, path: Path, options: ReadOptions) -> Raw | None:
    steps, written, reads = (_dataset(file, name, path) for name in _LMT)
    if steps is None or written is None:
        return None
    time = _line(steps, path)
    fitting = [n for n in written.shape if n <= len(time)]  # one time too many is usual
    if not fitting:
        raise _misfit(written, len(time), path)
    missing = _dataset(file, _LMT_MISSING, path)
    if missing is not None and missing.shape != written.shape:
        missing = None
    return _raw(path, time[: max(fitting)], (written, reads), True, options, missing)


def _dataset(file: Any, name: str, path: Path) -> Any:
    """Return a table of numbers in the file itself, None where there is none.

    Raises:
        InputError: it is something else, stands in another file, or claims more than is possible.
    """
    import h5py

    place = file
    for part in name.split("/"):
        if not isinstance(place, h5py.Group) or part not in place:
            return None
        if isinstance(place.get(part, getlink=True), h5py.ExternalLink):
            raise refusal(path, f"{name} is a link to another file", "copy the data into this one")
        place = place[part]
    if not isinstance(place, h5py.Dataset):
        raise refusal(path, f"{name} is no table")
    if place.is_virtual or place.external:
        raise refusal(path, f"{name} keeps its data in other files", "copy the data into this one")
    if place.dtype.kind not in "iuf" or place.ndim not in (1, 2):
        found = f"{place.ndim} dimensions of {str(place.dtype)[:40]}"
        raise refusal(path, f"{name} has {found}, not numbers by time and target")
    _must_be_possible(place, name, path)
    return place


def _must_be_possible(table: Any, name: str, path: Path) -> None:
    width = max(table.dtype.itemsize, 8)
    claimed = int(np.prod([float(n) for n in table.shape])) * width
    chunk = int(np.prod([float(n) for n in table.chunks or (1,)])) * width
    size = path.stat().st_size
    if chunk > _MOST_CHUNK_BYTES or claimed > max(_MOST_CLAIMED_BYTES, _MOST_UNPACKED * size):
        shape = " x ".join(f"{n:,}" for n in table.shape)
        message = f"{name} claims {shape} numbers in a file of {in_words(size)}"
        raise refusal(path, message, "give a file that holds its samples")


def _misfit(table: Any, times: int, path: Path) -> InputError:
    shape = " x ".join(f"{n:,}" for n in table.shape)
    return refusal(path, f"{table.name} has {shape} rows for {times:,} times")


def _times(file: Any, group: str, table: Any, path: Path) -> Numbers:
    """Return the times of a table: its own, its group's or the file's."""
    stamps = table.attrs.get("timestamps")
    if isinstance(stamps, bytes):
        stamps = stamps.decode(errors="replace")
    places = [stamps.strip("/")] if isinstance(stamps, str) and stamps.strip("/") else []
    for place in (*places, f"{group}/timestamps", "timestamps"):
        found = _dataset(file, place, path)
        if found is not None:
            return _line(found, path)
    raise refusal(path, f"no times for {table.name}")


def _line(table: Any, path: Path) -> Numbers:
    """Return a table of one dimension, of no more numbers than a trace has samples."""
    if table.ndim != 1:
        raise refusal(path, f"{table.name} has {table.ndim} dimensions, and times have one")
    if len(table) > MOST_SAMPLES + 1:
        raise too_long(path.stem, str(path))
    found = np.asarray(table[()], dtype=float)
    if (np.abs(np.nan_to_num(found)) > LAST_S).any():
        raise refusal(path, f"{table.name} holds times beyond the year 2200")
    return found


def _sum_over_targets(table: Any, times: int, lost: Any, path: Path) -> Numbers:
    """Return the sum over targets at each time; NaN where no target says anything."""
    along = next((axis for axis in range(table.ndim) if table.shape[axis] == times), None)
    if along is None:
        raise _misfit(table, times, path)
    targets = table.size // max(times, 1)
    stripe = max(_STRIPE_BYTES // max(8 * targets, 1), 1)
    if table.chunks is not None:  # whole chunks: one that is cut is unpacked again for each stripe
        stripe = -(-stripe // table.chunks[along]) * table.chunks[along]
    stripe = min(stripe, max(4 * _STRIPE_BYTES // max(8 * targets, 1), 1))
    total = np.full(times, np.nan)
    for begin in range(0, times, stripe):
        rows = slice(begin, min(begin + stripe, times))
        part = rows if along == 0 else (slice(None), rows)
        values = np.asarray(table[part], dtype=float)
        values[np.signbit(values)] = np.nan  # -0.0 stands for no sample
        if lost is not None:
            values[np.asarray(lost[part]) != 0] = np.nan
        values = (values if along == 0 else values.T).reshape(len(total[rows]), -1)
        nothing = np.isnan(values).all(axis=1)
        total[rows] = np.where(nothing, np.nan, np.nansum(values, axis=1))
    return total


def _raw(
    path: Path,
    time: Numbers,
    tables: tuple[Any, Any],
    is_rate: bool,
    options: ReadOptions,
    lost: Any = None,
) -> Raw:
    factor, is_rate = (1e-9, is_rate) if options.unit is None else parse_unit(options.unit)
    factor, is_rate = as_said((factor, is_rate), options, str(path))
    with np.errstate(over="ignore"):
        write, read_ = (
            None if table is None else _sum_over_targets(table, len(time), lost, path) * factor
            for table in tables
        )
    assert write is not None
    dated = bool(time.max(initial=0.0) > DATED_FROM_S)
    return Raw(path.stem, str(path), time, write, read_, is_rate, dated)
