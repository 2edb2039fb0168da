"""Which column of a trace's table holds what, and in which unit.

What the user says goes before what a name says, and both before what is found out later. A name
that says too little is asked about, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from planner import units
from planner.errors import Finding, InputError, did_you_mean
from planner.telemetry.raw import ReadOptions, refusal
from planner.units import DAY_S, HOUR_S

Unit = tuple[float, bool]
"""What one unit is in GB/s or GB, and whether it is a bandwidth."""
_TIMES = re.compile(r"(?i)(time|date|epoch|(^|[^a-z])ts$|unix)")
_DATES = re.compile(r"(?i)^(?!.*time).*(date|day)")
_CLOCKS = re.compile(r"(?i)^(?!.*(date|stamp)).*time")
_WRITES = re.compile(
    r"(?i)(^|[^a-z])(write|wrote|written|writ(?![a-z])|wr(?=$|[^a-z]|bw|[kmgt]i?b))"
    r"|^w(?=[_ ]|[kmgt]?i?b/s)|(?-i:[a-z]W(rite|rote|ritten))"
)
_READS = re.compile(
    r"(?i)(^|[^a-z])(read(?!y)|rd(?=$|[^a-z]|bw|[kmgt]i?b))"
    r"|^r(?=[_ ]|[kmgt]?i?b/s)|(?-i:[a-z]Read)"
)
_NO_TRAFFIC = re.compile(
    r"(?i)(latency|iops|time|await|ops(?![a-z])|requests?|completed|merged|count|errors?|util|%)"
)
_CLUSTERS = re.compile(r"(?i)^(cluster|cluster[_ ]?name|cluster[_ ]?id|system|site)$")
_APART = re.compile(
    r"(?i)^(host|node|instance|server|device|disk|drive|volume|mount|ost|oss|target|pod)"
    r"([_ ]?(name|id))?$|^(mountpoint|filesystem|interface)$"
)
_PREFIX = {"k": "k", "m": "M", "g": "G", "t": "T", "p": "P", "": ""}
_NAMED = re.compile(
    r"(?:^[rw](?=[kMGT]?i?B/s)|^|(?<=[^A-Za-z])|(?<=[a-z])(?=[A-Z]))"
    r"(?i:(?P<prefix>[kmgtp]?)(?P<binary>i?)(?P<byte>b|bytes?)"
    r"(?P<rate>(?:_per_|/|_| per )s(?:ec(?:ond)?)?|ps|(?<=[kmgtpi]b)(?P<short>s))?(?![a-z]))"
)
_BITS = re.compile(r"[kMGTP]?b(it)?s?(/s|ps)|(?i:(^|[^a-z])[kmgtp]bps)")
_RATES = re.compile(
    r"(?i)(^|[^a-z])(i?rate|deriv|bandwidth|throughput|tput|speed|((wr|rd|w|r)?bw))(?=$|[^a-z])"
    r"|(?-i:[a-z](Rate|Bandwidth|BW|Throughput))"
)
_INCREASE = re.compile(r"(?i)(?:increase|delta)\s*\(.*\[(?P<count>\d+)(?P<unit>ms|s|m|h|d)")
_LABELS = re.compile(r"\{[^}]*\}")
_ARITHMETIC = re.compile(r"[*/]\s*\(?\s*\d|\d\s*[*]")
_TIME_UNITS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "m": 60.0,
    "min": 60.0, "minutes": 60.0, "h": HOUR_S, "hours": HOUR_S, "d": DAY_S, "days": DAY_S,
}  # fmt: skip
_TIME_UNIT = re.compile(r"(?i)[^a-z](ns|us|ms|s|sec|seconds|min|minutes|h|hours|d|days)\W*$")
FIX_UNIT = "say it, for example --unit GB/s, or --unit B for bytes"


@dataclass(frozen=True)
class Columns:
    """The columns of a table by what they hold; ``reads`` may be empty, ``cluster`` missing.

    Attributes:
        time: of times, or of times of day where ``date`` holds their dates.
        writes, reads: of figures that are added up.
        apart: of names that tell rows of one time apart, such as hosts.
        unit: of the figures, None where only their cells can tell it.
        unit_said: whether the user said it.
    """

    time: str
    writes: tuple[str, ...]
    reads: tuple[str, ...] = ()
    date: str | None = None
    cluster: str | None = None
    apart: str | None = None
    unit: Unit | None = None
    unit_said: bool = False

    @property
    def time_unit_s(self) -> float | None:
        """The unit of numbers in the column of times, where its name tells one."""
        match = _TIME_UNIT.search(self.time)
        return None if match is None else _TIME_UNITS[match[1].lower()]

    @property
    def figures(self) -> tuple[str, ...]:
        """Those of traffic."""
        return self.writes + self.reads

    @property
    def names(self) -> list[str]:
        """All of them."""
        wanted = (self.time, self.date, *self.figures, self.cluster, self.apart)
        return [name for name in wanted if name is not None]

    def settled(self, of_day: object) -> Columns:
        """Return them without that of dates, unless times are ``of_day`` and need them."""
        return self if of_day else replace(self, date=None)


def find(names: Sequence[str], options: ReadOptions, file: str) -> Columns:
    """Return the columns that the options name, or that names give away.

    Args:
        names: the table's columns.
        options: which of them are what, as far as it is said.
        file: for messages.

    Raises:
        InputError: one is not there, or it is not clear which one is meant.
    """
    date, time = _when(names, options.time, file)
    writes = _traffic(names, options.write, _WRITES, "write", options.sum, file)
    others = [name for name in names if name not in writes]
    reads = _traffic(others, options.read, _READS, "read", options.sum, file)
    if not writes:
        raise _nothing_like(names, "write", file)
    cluster = _perhaps(names, options.cluster, _CLUSTERS, "cluster", file)
    chosen = [time, date, *writes, *reads, cluster]
    _distinct(names, chosen, file)
    apart = [name for name in names if _APART.search(name) and name not in chosen]
    unit = _unit([*writes, *reads], options, file)
    first = apart[0] if apart else None
    return Columns(time, writes, reads, date, cluster, first, unit, options.unit is not None)


def _distinct(names: Sequence[str], chosen: Sequence[str | None], file: str) -> None:
    """Refuse a column that is there twice, or is to be two things."""
    for name in filter(None, chosen):
        if chosen.count(name) > 1:
            message = f"column '{name}' cannot be two things at once"
            fix = "give each of --time, --write, --read and --cluster a column of its own"
            raise refusal(file, message, fix, line=1)
        if names.count(name) > 1:
            message = f"there are {names.count(name)} columns named '{name}'"
            raise refusal(file, message, "give them different names", line=1)


def _when(names: Sequence[str], asked: str | None, file: str) -> tuple[str | None, str]:
    """Return the column of dates, if it is one of its own, and that of times."""
    if asked is not None and asked not in names and "+" in asked:
        date, _, time = (part.strip() for part in asked.partition("+"))
        if date in names and time in names:
            return date, time
    found = [name for name in names if _TIMES.search(name) and not _WRITES.search(name)]
    dates = [name for name in found if _DATES.search(name)]
    clocks = [name for name in found if _CLOCKS.search(name)]
    if asked is None and len(found) == 2 and len(dates) == len(clocks) == 1:
        return dates[0], clocks[0]
    chosen = _perhaps(names, asked, _TIMES, "time", file)
    if chosen is None:
        raise _nothing_like(names, "time", file)
    return None, chosen


def _traffic(
    names: Sequence[str],
    asked: str | None,
    like: re.Pattern[str],
    what: str,
    several: bool,
    file: str,
) -> tuple[str, ...]:
    """Return the columns of one direction: one, or with ``several`` all that are like it."""
    if several:
        found = [name for name in names if like.search(name) and not _NO_TRAFFIC.search(name)]
        if asked is not None:
            found = [name for name in names if fnmatchcase(name, asked)]
        if len(found) > 1 and asked not in names:
            return tuple(found)
    chosen = _perhaps(names, asked, like, what, file)
    return () if chosen is None else (chosen,)


def _nothing_like(names: Sequence[str], what: str, file: str) -> InputError:
    message = f"no column is named like a {what} (columns: {', '.join(names)[:160]})"
    return refusal(file, message, f"name it with --{what} COLUMN", line=1)


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
        other = _WRITES if what == "time" else _NO_TRAFFIC
        found = [name for name in found if not other.search(name)] or found
    if len(found) > 1:
        message = f"several columns are named like a {what}: {', '.join(found)[:160]}"
        fix = f"choose one with --{what} COLUMN"
        if what in ("write", "read"):
            fix += ", or add them up with --sum"
        raise refusal(file, message, fix, line=1)
    return found[0] if found else None


def _unit(columns: Iterable[str], options: ReadOptions, file: str) -> Unit | None:
    """Return the unit of all columns of traffic; None where no name tells one."""
    found = {name: _by_name(name, options, file) for name in columns}
    first, *_ = found
    for name, unit in found.items():
        if unit is None and any(found.values()):
            raise no_unit(name, file)
        if unit != found[first]:
            message = f"columns '{first}' and '{name}' are in different units"
            raise refusal(file, message, "bring them into one, in GB/s", line=1)
    return found[first]


def _by_name(name: str, options: ReadOptions, file: str) -> Unit | None:
    """Return the unit of a column: as it is said, else as its name tells it."""
    named, window_s = _read_name(name)
    unit = named if options.unit is None else parse_unit(options.unit)
    if unit is None or options.read_as is None:
        if unit is not None and not unit[1] and window_s is not None:
            return unit[0] / window_s, True
        return unit
    return as_said(unit, options, file)


def as_said(unit: Unit, options: ReadOptions, file: str) -> Unit:
    """Return a unit as ``read_as`` has it, which knows better than a name whether it is a rate.

    Raises:
        InputError: the user says both, and they contradict one another.
    """
    if options.read_as is None:
        return unit
    if options.unit is not None and unit[1] and options.read_as != "rate":
        message = f"the unit is a bandwidth, so the figures cannot be read as {options.read_as}"
        fix = "give a size, for example --unit B"
        raise InputError(Finding("option", message, file, path="--read-as", fix=fix))
    return unit[0], options.read_as == "rate"


def no_unit(name: str, file: str) -> InputError:
    """Return what to say where nothing tells the unit of a column."""
    return refusal(file, f"column '{name}' does not say its unit", FIX_UNIT, line=1)


def _read_name(name: str) -> tuple[Unit | None, float | None]:
    """Return the unit that a name tells, and the time over which it says that figures are sums.

    Names are also queries: a rate of bytes is a bandwidth whatever its counter is called, an
    increase is what came in its window, and behind arithmetic the unit is another.
    """
    name = _LABELS.sub("", name)
    increase = _INCREASE.search(name)
    window_s = None
    if increase is not None:
        window_s = max(int(increase["count"][:9]), 1) * _TIME_UNITS[increase["unit"].lower()]
    match = None if _BITS.search(name) or _ARITHMETIC.search(name) else _NAMED.search(name)
    if match is None:
        return None, window_s
    is_rate = bool(_RATES.search(name))
    if match["short"] and not is_rate:  # "GBs": gigabytes as well as a bandwidth
        return None, window_s
    prefix = _PREFIX[match["prefix"].lower()] + ("i" if match["binary"] and match["prefix"] else "")
    return parse_unit(f"{prefix}B" + ("/s" if match["rate"] or is_rate else "")), window_s


def parse_unit(unit: str) -> Unit:
    """Return a unit that is written out.

    Raises:
        InputError: it is none of traffic.
    """
    found = in_gb(unit)
    if found is None:
        message = f"'{unit[:40]}' is neither a bandwidth nor a data size"
        fix = "write for example --unit GB/s, MiB/s, Gbit/s, or B for bytes"
        raise InputError(Finding("option", message, path="--unit", fix=fix))
    return found


def in_gb(unit: str) -> Unit | None:
    """Return a unit in GB/s or GB, None where it is none of traffic."""
    for dimension, is_rate in ((units.BANDWIDTH, True), (units.SIZE, False)):
        try:
            return units.parse(f"1 {unit}", dimension), is_rate
        except units.QuantityError:
            continue
    try:
        return units.parse(f"1 {unit}", units.LINK_SPEED) / 8, True
    except units.QuantityError:
        return None
