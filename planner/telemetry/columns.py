"""Columns of a trace: which holds times, writes and reads, and the unit of its figures.

Each is named by an option, or is the only one whose name fits one pattern.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from planner import units
from planner.errors import Finding, InputError, did_you_mean
from planner.telemetry.raw import ReadOptions, refusal

Unit = tuple[float, bool]
"""A unit of traffic in GB/s or GB, and whether it is a bandwidth."""

_NO_TRAFFIC = r"^(?!.*(?i:latency|iops|await|ops(?![a-z])|time|count|util|request|merged|%))"
PATTERNS = {
    "time": re.compile(r"(?i)(?<![a-z])(time[ _]?(stamp)?|date(time)?|epoch|ts)(?![a-z])"),
    "write": re.compile(
        _NO_TRAFFIC + r"(?:.*(?:(?<![A-Za-z])w|(?<=[a-z])W|(?<![A-Za-z])W)"
        r"(rit(e|es|ten)?|rote|r|rtn|RITE)(?![a-z])|w[kMG]?B/s$|bwrtn/s$)"
    ),
    "read": re.compile(
        _NO_TRAFFIC + r"(?:.*(?:(?<![A-Za-z])r|(?<=[a-z])R|(?<![A-Za-z])R)"
        r"(eads?|d|EAD)(?![a-z])|r[kMG]?B/s$|bread/s$)"
    ),
    "cluster": re.compile(r"(?i)^cluster([_ ]?(name|id))?$"),
}
_HOST = re.compile(r"(?i)^(host|node|instance|server|dev|device|disk|ost|target)([_ ]?(name|id))?$")
_SYSSTAT = re.compile(r"^(?:[rwd]|[rt]x)?([kM])B(?:_read|_wrtn|_dscd)?/s$")
_SYSSTAT_BLOCKS = re.compile(r"^b(read|wrtn)/s$")
_NAMED = re.compile(
    r"(?:^|(?<=[^A-Za-z])|(?<=[a-z])(?=[A-Z]))"
    r"(?i:(?P<prefix>[kmgtp]?)(?P<binary>i?)(?P<byte>b|bytes?)"
    r"(?P<rate>(?:_per_|/| per )s(?:ec(?:ond)?)?|ps)?(?![a-z]))"
)
_UNCLEAR = re.compile(
    r"[kMGTP]?b(it)?s?(/s|ps)|(?i:(^|[^a-z])[kmgtp]bps)|\]\W*[*/]|\)\s*[*/]|\d\s*\*|increase\("
)
"""Bits or bytes, or arithmetic of a query."""
_RATE = re.compile(r"(?i)(^|[^a-z])(i?rate|bandwidth|throughput|speed|((wr|rd|w|r)?bw))(?![a-z])")
_FIX_UNIT = "give it, for example --unit GB/s, or --unit B for bytes"


@dataclass(frozen=True)
class Columns:
    """Columns of a table by content.

    Attributes:
        time: times, or dates and times of day in two columns.
        writes, reads: traffic; several are added up.
        cluster: names of clusters.
        host: names of hosts or devices, which must not be mixed unnoticed.
        unit: unit of traffic; None where only cells can tell.
    """

    time: tuple[str, ...]
    writes: tuple[str, ...]
    reads: tuple[str, ...] = ()
    cluster: str | None = None
    host: str | None = None
    unit: Unit | None = None

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        more = [name for name in (self.cluster, self.host) if name is not None]
        return [*self.time, *self.writes, *self.reads, *more]


def find_columns(
    names: Sequence[str], options: ReadOptions, file: str, line: int | None = 1
) -> Columns:
    """Return the columns that options name, or that one pattern each finds.

    Args:
        names: all columns of the table.
        options: columns by name, and the unit.
        file: name for messages.
        line: line of the names; None for files without lines.

    Raises:
        InputError: a column is missing, or several fit; the message lists the columns.
    """
    names = [name.rstrip("\0") for name in names]
    find = _Finder(tuple(names), options.sum, file, line)
    time: tuple[str, ...] = ()
    if options.time is not None and options.time not in names and "+" in options.time:
        time = tuple(find.named(part.strip(), "time") for part in options.time.split("+"))
    writes = find.columns("write", options.write)
    reads = find.columns("read", options.read, need=False, taken=writes)
    time = time or find.columns("time", options.time, taken=(*writes, *reads))
    cluster = find.columns("cluster", options.cluster, need=False)
    chosen = [*time, *writes, *reads, *cluster]
    for name in chosen:
        if chosen.count(name) > 1:
            fix = "give each of --time, --write, --read and --cluster a column of its own"
            raise refusal(file, f"column '{name}' cannot be two things at once", fix, line=line)
        if names.count(name) > 1:
            message = f"there are {names.count(name)} columns named '{name}'"
            raise refusal(file, message, "give them different names", line=line)
    host = next((name for name in names if _HOST.match(name) and name not in chosen), None)
    unit = _common_unit([*writes, *reads], options, file, line)
    return Columns(time, writes, reads, next(iter(cluster), None), host, unit)


@dataclass(frozen=True)
class _Finder:
    names: tuple[str, ...]
    sum: bool
    file: str
    line: int | None

    def columns(
        self, what: str, asked: str | None, need: bool = True, taken: Sequence[str] = ()
    ) -> tuple[str, ...]:
        if asked is not None:
            several = self.sum and asked not in self.names
            fitting = [name for name in self.names if several and fnmatchcase(name, asked)]
            return tuple(fitting) or (self.named(asked, what),)
        found = [n for n in self.names if PATTERNS[what].search(n) and n not in taken]
        exact = [name for name in found if name.lower() == what]
        if len(found) > 1 and not (self.sum and what in ("write", "read")):
            found = exact or found
        elif found:
            return tuple(found)
        if len(found) == 1 or not (found or need):
            return tuple(found)
        shown = ", ".join(self.names)[:300]
        if not found:
            message = f"no column of {what}s is recognised; columns: {shown}"
            raise refusal(self.file, message, f"name it: --{what} COLUMN", line=self.line)
        if len(set(found)) < len(found):
            message = f"there are {len(found)} columns named '{found[0]}'"
            raise refusal(self.file, message, "give them different names", line=self.line)
        fix = {"time": "--time DATE+TIME for two", "cluster": ""}.get(what, "--sum adds them up")
        message = f"several columns may hold {what}s: {', '.join(found)[:200]}; columns: {shown}"
        fix = f"name it: --{what} COLUMN" + (f"; {fix}" if fix else "")
        raise refusal(self.file, message, fix, line=self.line)

    def named(self, asked: str, what: str) -> str:
        if asked in self.names:
            return asked
        hint = did_you_mean(asked, list(self.names))
        fix = f"{hint + '; ' if hint else ''}columns: {', '.join(self.names)[:300]}"
        message = f"no column '{asked}'"
        raise InputError(Finding("trace", message, self.file, self.line, f"--{what}", fix))


def _common_unit(
    columns: Sequence[str], options: ReadOptions, file: str, line: int | None
) -> Unit | None:
    """Return the unit of all columns of traffic; None where no name tells one."""
    if options.unit is not None:
        return _as_read(parse_unit(options.unit), options)
    found = {name: unit_of_name(name) for name in columns}
    for name, unit in found.items():
        if unit != found[columns[0]]:
            message = f"columns '{columns[0]}' and '{name}' are in different units"
            raise refusal(file, message, "bring them into one, in GB/s", line=line)
    first = found[columns[0]]
    return None if first is None else _as_read(first, options)


def _as_read(unit: Unit, options: ReadOptions) -> Unit:
    if options.read_as is None:
        return unit
    if options.unit is not None and unit[1] and options.read_as != "rate":
        message = f"the unit is a bandwidth, so the figures cannot be read as {options.read_as}"
        fix = "give a size, for example --unit B"
        raise InputError(Finding("option", message, path="--read-as", fix=fix))
    return unit[0], options.read_as == "rate"


def no_unit(name: str, file: str, line: int | None) -> InputError:
    """Return the refusal of a column without a unit."""
    return refusal(file, f"column '{name}' does not say its unit", _FIX_UNIT, line=line)


def unit_of_name(name: str) -> Unit | None:
    """Return the unit in a column's name, None where it has none or an unclear one.

    kB and MB of sysstat (``wkB/s``, ``kB_wrtn/s``, ``rMB/s``, ``txkB/s``) are 2^10 and 2^20 bytes,
    ``bread/s`` and ``bwrtn/s`` blocks of 512 bytes (sysstat FAQ 1.4).
    """
    sysstat = _SYSSTAT.match(name)
    if sysstat:
        return (2**10 if sysstat[1] == "k" else 2**20) / 1e9, True
    if _SYSSTAT_BLOCKS.match(name):
        return 512 / 1e9, True
    match = None if _UNCLEAR.search(name) else _NAMED.search(name)
    if match is None:
        return None
    power = " kmgtp".index(match["prefix"].lower() or " ")
    factor = (1024.0 if match["binary"] and power else 1000.0) ** power / 1e9
    return factor, bool(match["rate"] or _RATE.search(name))


def parse_unit(text: str) -> Unit:
    """Return a unit that is written out.

    Raises:
        InputError: it is no unit of traffic.
    """
    found = traffic_unit(text)
    if found is None:
        message = f"'{text[:40]}' is neither a bandwidth nor a data size"
        fix = "write for example --unit GB/s, MiB/s, Gbit/s, or B for bytes"
        raise InputError(Finding("option", message, path="--unit", fix=fix))
    return found


def traffic_unit(text: str) -> Unit | None:
    """Return a unit in GB/s or GB, None where it is none of traffic."""
    text = re.sub(r"(?i)bytes?", "B", text.strip())
    text = re.sub(r"(?<=[Bbt])(ps|/sec(ond)?| per s)$", "/s", text)
    text = re.sub(r"^K(?=B)", "k", re.sub(r"^ki(?=B)", "Ki", text))
    for dimension, scale, is_rate in (
        (units.BANDWIDTH, 1.0, True),
        (units.SIZE, 1.0, False),
        (units.LINK_SPEED, 0.125, True),
    ):
        try:
            return units.parse(f"1 {text}", dimension) * scale, is_rate
        except units.QuantityError:
            continue
    return None
