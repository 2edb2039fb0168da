"""Traces in HDF5: time series of TOKIO, and the older files of the Lustre Monitoring Tool.

Layouts: github.com/NERSC/pytokio, ``tokio/connectors/hdf5.py``. Rates are bytes per second, one
column per storage target; they are added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import Finding, InputError
from planner.telemetry.options import ReadOptions
from planner.telemetry.raw import DATED_FROM_S, Raw
from planner.telemetry.unreadable import unreadable

HDF5 = {".hdf5", ".h5", ".h5lmt"}
_GB = 1e9
_LMT = (
    "FSStepsGroup/FSStepsDataSet",
    "OSTWriteGroup/OSTBulkWriteDataSet",
    "OSTReadGroup/OSTBulkReadDataSet",
)
_LMT_MISSING = "FSMissingGroup/FSMissingDataSet"
_GROUPS = ("datatargets", "fullblocks", "mdtargets")
_TOKIO = (("writerates", "readrates", True), ("writebytes", "readbytes", False))


def read(path: Path, options: ReadOptions) -> Iterator[Raw]:
    """Yield the one cluster of a file.

    Raises:
        InputError: it cannot be read, or has neither layout.
    """
    del options  # its columns have fixed names and units
    import h5py

    try:
        with h5py.File(path, "r") as file:
            found = _tokio(file, path) or _lmt(file, path)
    except OSError as error:
        raise unreadable(path, error if path.exists() else FileNotFoundError()) from None
    if found is None:
        message = "neither a TOKIO time series nor a file of the Lustre Monitoring Tool"
        fix = "it needs datatargets/writerates (or writebytes) with datatargets/timestamps"
        raise InputError(Finding("trace", message, str(path), fix=fix))
    yield found


def _tokio(file: Any, path: Path) -> Raw | None:
    for group in _GROUPS:
        for write, read_, is_rate in _TOKIO:
            if f"{group}/{write}" in file:
                time = _times(file, group, write)
                reads = f"{group}/{read_}"
                figures = _summed(file[f"{group}/{write}"], len(time))
                return _raw(
                    path,
                    time,
                    figures,
                    _summed(file[reads], len(time)) if reads in file else None,
                    is_rate,
                )
    return None


def _times(file: Any, group: str, name: str) -> Any:
    """Return the times of a data set: its own, its group's or the file's."""
    asked = file[f"{group}/{name}"].attrs.get("timestamps")
    if isinstance(asked, bytes):
        asked = asked.decode(errors="replace")
    places = [asked] if isinstance(asked, str) else []
    for place in (*places, f"{group}/timestamps", "timestamps"):
        if place in file:
            return np.asarray(file[place][()], dtype=float)
    message = f"no times for {group}/{name}"
    raise InputError(Finding("trace", message, str(file.filename)))


def _lmt(file: Any, path: Path) -> Raw | None:
    steps, write, read_ = _LMT
    if steps not in file or write not in file:
        return None
    time = np.asarray(file[steps][()], dtype=float)
    time = time[: max(n for n in file[write].shape if n <= len(time))]  # one time too many is usual
    lost = _lost(file, file[write].shape)
    reads = _summed(file[read_], len(time), lost) if read_ in file else None
    return _raw(path, time, _summed(file[write], len(time), lost), reads, True)


def _lost(file: Any, shape: tuple[int, ...]) -> Any:
    """Return which of the samples are marked as missing, None where nothing says so."""
    if _LMT_MISSING not in file or file[_LMT_MISSING].shape != shape:
        return None
    return np.asarray(file[_LMT_MISSING][()]) != 0


def _summed(dataset: Any, times: int, lost: Any = None) -> Any:
    """Return the sum over targets at each time; NaN where no target says anything."""
    values = np.asarray(dataset[()], dtype=float)
    if lost is not None:
        values[lost] = np.nan
    if values.ndim == 2 and values.shape[0] != times:
        values = values.T
    if values.shape[0] != times:
        message = f"{dataset.name} has {values.shape[0]} rows for {times} times"
        raise InputError(Finding("trace", message, str(dataset.file.filename)))
    values = values.reshape(times, -1)
    values = np.where(np.signbit(values), np.nan, values)  # -0.0 stands for no sample
    nothing = np.isnan(values).all(axis=1)
    return np.where(nothing, np.nan, np.nansum(values, axis=1))


def _raw(path: Path, time: Any, write: Any, reads: Any, is_rate: bool) -> Raw:
    dated = bool(time.max(initial=0.0) > DATED_FROM_S)
    scaled = None if reads is None else reads / _GB
    return Raw(path.stem, str(path), time, write / _GB, scaled, is_rate, dated)
