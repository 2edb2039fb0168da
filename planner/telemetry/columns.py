"""Which columns of a table hold time and traffic, and in which unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from planner import units
from planner.errors import Finding, InputError, did_you_mean
from planner.telemetry.options import ReadOptions

_TIMES = re.compile(r"(?i)(time|date|epoch|ts$|unix)")
_WRITES = re.compile(r"(?i)(^|[^a-z])(write|wrote|written|wr$|wr_)|(?-i:[a-z]Write)")
_READS = re.compile(r"(?i)(^|[^a-z])(read|rd$|rd_)|(?-i:[a-z]Read)")
_CLUSTERS = re.compile(r"(?i)^(cluster|cluster_?name|cluster_?id|system|site)$")
_PREFIX = {"k": "k", "m": "M", "g": "G", "t": "T", "p": "P", "": ""}
_NAMED = re.compile(
    r"(?:^|(?<=[^A-Za-z])|(?<=[a-z])(?=[A-Z]))(?i:(?P<prefix>[kmgtp]?)(?P<binary>i?)(?P<byte>b|bytes?)"
    r"(?P<rate>(?:_per_|/|_)s(?:ec(?:ond)?)?|ps)?(?![a-z]))"
)
_BITS = re.compile(r"[kMGTP]?b(it)?s?(/s|ps)|(?i:(^|[^a-z])[kmgtp]bps)")
_TIME_UNITS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0,
    "minutes": 60.0, "h": 3600.0, "hours": 3600.0, "d": 86_400.0, "days": 86_400.0,
}  # fmt: skip
_TIME_UNIT = re.compile(r"(?i)[^a-z](ns|us|ms|s|sec|seconds|min|minutes|h|hours|d|days)\W*$")
FIX_UNIT = "say it, for example --unit GB/s, or --unit B for bytes"


@dataclass(frozen=True)
class Columns:
    """The columns of a table by what they hold; ``read`` and ``cluster`` may be missing.

    ``to_gb`` turns a figure into GB/s, or into GB where ``is_rate`` is False.
    """

    time: str
    write: str
    read: str | None
    cluster: str | None
    to_gb: float
    is_rate: bool

    @property
    def time_unit_s(self) -> float | None:
        """The unit of numbers in the column of times, where its name tells one."""
        match = _TIME_UNIT.search(self.time)
        return None if match is None else _TIME_UNITS[match[1].lower()]

    @property
    def names(self) -> list[str]:
        """All of them."""
        wanted = (self.time, self.write, self.read, self.cluster)
        return [name for name in wanted if name is not None]


def find(names: Sequence[str], options: ReadOptions, file: str) -> Columns:
    """Return the columns that the options name, or that names give away.

    Args:
        names: the table's columns.
        options: which of them are what, as far as it is said.
        file: for messages.

    Raises:
        InputError: one is not there, or it is not clear which one is meant.
    """
    time = _one(names, options.time, _TIMES, "time", file)
    write = _one(names, options.write, _WRITES, "write", file)
    reads = [name for name in names if name != write]
    read = _perhaps(reads, options.read, _READS, "read", file)
    cluster = _perhaps(names, options.cluster, _CLUSTERS, "cluster", file)
    _distinct(names, (time, write, read, cluster), file)
    to_gb, is_rate = unit_of(write, options.unit, file)
    _in_its_unit(write, options.unit, is_rate, file)
    if read is not None and options.unit is None and unit_of(read, None, file) != (to_gb, is_rate):
        message = f"columns '{write}' and '{read}' are in different units"
        raise InputError(Finding("trace", message, file, 1, fix="bring them into one, in GB/s"))
    return Columns(time, write, read, cluster, to_gb, is_rate)


def _distinct(names: Sequence[str], chosen: Sequence[str | None], file: str) -> None:
    """Refuse a column that is there twice, or is to be two things."""
    for name in filter(None, chosen):
        if chosen.count(name) > 1:
            message = f"column '{name}' cannot be two things at once"
            fix = "give each of --time, --write, --read and --cluster a column of its own"
            raise InputError(Finding("trace", message, file, 1, fix=fix))
        if names.count(name) > 1:
            message = f"there are {names.count(name)} columns named '{name}'"
            raise InputError(Finding("trace", message, file, 1, fix="give them different names"))


def _in_its_unit(name: str, unit: str | None, is_rate: bool, file: str) -> None:
    """Refuse a unit that is said where the column's own name tells another kind."""
    told = None if _BITS.search(name) else _NAMED.search(name)
    if unit is not None and told is not None and bool(told["rate"]) != is_rate:
        kinds = ("a bandwidth", "a size") if told["rate"] else ("a size", "a bandwidth")
        message = f"column '{name}' is named as {kinds[0]}, and '{unit[:40]}' is {kinds[1]}"
        raise InputError(Finding("option", message, file, 1, "--unit", "leave --unit out"))


def _one(
    names: Sequence[str], asked: str | None, like: re.Pattern[str], what: str, file: str
) -> str:
    found = _perhaps(names, asked, like, what, file)
    if found is None:
        message = f"no column is named like a {what} (columns: {', '.join(names)[:160]})"
        raise InputError(Finding("trace", message, file, 1, fix=f"name it with --{what} COLUMN"))
    return found


def _perhaps(
    names: Sequence[str], asked: str | None, like: re.Pattern[str], what: str, file: str
) -> str | None:
    if asked is not None:
        if asked in names:
            return asked
        fix = did_you_mean(asked, list(names)) or f"its columns: {', '.join(names)[:160]}"
        raise InputError(Finding("trace", f"no column '{asked}'", file, 1, f"--{what}", fix))
    found = [name for name in names if like.search(name)]
    if len(found) > 1:
        found = [name for name in found if name.lower() == what] or found
    if len(found) > 1:
        message = f"several columns are named like a {what}: {', '.join(found)[:160]}"
        raise InputError(Finding("trace", message, file, 1, fix=f"choose one with --{what} COLUMN"))
    return found[0] if found else None


def unit_of(name: str, unit: str | None, file: str) -> tuple[float, bool]:
    """Return what one unit of a column is in GB/s or GB, and whether it is a rate.

    Args:
        name: the column's name.
        unit: its unit where it is said, None to read it from the name.
        file: for messages.

    Raises:
        InputError: the unit is none, or the name does not tell one.
    """
    if unit is not None:
        return _asked(unit)
    match = None if _BITS.search(name) else _NAMED.search(name)
    if match is None:
        message = f"column '{name}' does not say its unit"
        raise InputError(Finding("trace", message, file, 1, fix=FIX_UNIT))
    prefix = _PREFIX[match["prefix"].lower()] + ("i" if match["binary"] and match["prefix"] else "")
    return _asked(f"{prefix}B" + ("/s" if match["rate"] else ""))


def _asked(unit: str) -> tuple[float, bool]:
    for dimension, is_rate in ((units.BANDWIDTH, True), (units.SIZE, False)):
        try:
            return units.parse(f"1 {unit}", dimension), is_rate
        except units.QuantityError:
            continue
    try:
        return units.parse(f"1 {unit}", units.LINK_SPEED) / 8, True
    except units.QuantityError:
        pass
    message = f"'{unit[:40]}' is neither a bandwidth nor a data size"
    fix = "write for example --unit GB/s, MiB/s, Gbit/s, or B for bytes"
    raise InputError(Finding("option", message, path="--unit", fix=fix))
