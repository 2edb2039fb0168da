"""Every limit of a problem once: its figure, and its path in the file.

Rows of the solver, levers, the limits a plan reports, setters of an audit, rows on
the sheet ``Performance``, groups of sweeps, verification and the table in ``docs/model.md`` follow
from ``LIMITS``. A limit on a sum over the bill is one row here; what one unit adds to the sum
is in ``planner.figures.STATED`` where catalogs state it, else in ``planner.case.figures.SUMS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Literal

from planner.figures import FIGURES, STATED
from planner.paths import job_path

Group = Literal["supply", "ratio", "target", "job", "storage", "count", "policy"]
"""``supply`` is used up by a purchase alone, a ``ratio`` is money per useful work."""

COUNTED = 1e-9
TIMED = 1e-7
"""Tolerated excess over a limit, as a share: of sums of the bill, and of results of logarithms."""
COUNTED_IN = frozenset({"racks", "units", "GPUs", "systems", "families"})
"""Units of limits in whole numbers."""
MILLION = 1e6
"""Money in the model is in millions of USD, so that its numbers are of the size solvers like."""


@dataclass(frozen=True)
class Limit:
    """One limit.

    ``figure`` is the compared figure, by its name in a plan's totals or job; ``path`` its place in
    the problem file ("" where it follows from products). ``asked`` is its label as a demand and
    ``written`` the unit of the file, where they differ from ``label`` and ``unit``. Without
    ``reported`` it bounds a variable and is in no plan. An ``editable`` limit is an input of the
    workbook. Names and labels of a limit per item or rule have a ``*``.
    """

    name: str
    label: str
    figure: str
    sense: Literal["<=", ">="]
    unit: str
    path: str
    group: Group
    asked: str = ""
    written: str = ""
    tolerance: float = COUNTED
    editable: bool = True
    reported: bool = True
    exact: bool = False

    @property
    def known_part(self) -> bool:
        """True if missing catalog figures count as 0, with a note."""
        return self.figure in STATED

    @property
    def field(self) -> str:
        """Its name among the limits of a case, which has sums by their figure."""
        return self.figure if self.group == "supply" else self.name

    @property
    def scale(self) -> float:
        """Size of one unit of the model."""
        return MILLION if self.unit.startswith("USD") else 1.0

    @property
    def demand(self) -> str:
        """Its label as a demand."""
        return self.asked or self.label

    @property
    def file_unit(self) -> str:
        """Its unit in a problem file."""
        return self.written or self.unit

    @property
    def looser(self) -> Literal[1, -1]:
        """Direction in which it admits more plans."""
        return 1 if self.sense == "<=" else -1


def _supply(
    name: str, figure: str, path: str, label: str = "", *, asked: str = "", written: str = ""
) -> Limit:
    """A ceiling on a sum over everything in place or everything bought."""
    row = FIGURES[figure]
    label, unit = label or row.label, row.unit
    return Limit(name, label, figure, "<=", unit, path, "supply", asked, written)


def _yearly(name: str, label: str, figure: str) -> Limit:
    return _supply(name, figure, f"budget.{name}_per_year", label, written="USD")


def _target(
    name: str,
    figure: str,
    *,
    asked: str,
    written: str = "",
    tolerance: float = TIMED,
) -> Limit:
    """A floor that the user sets."""
    path, row = f"targets.{name}", FIGURES[figure]
    return Limit(name, row.label, figure, ">=", row.unit, path, "target", asked, written, tolerance)


_fixed = partial(Limit, editable=False)
"""A limit that is no input of the workbook: it follows, or has its own cell."""


_JOB = job_path()
_CHECKPOINT = f"{_JOB}.checkpoint"

LIMITS: tuple[Limit, ...] = (
    _supply("it_power", "it_power_kw", "site.it_power"),
    _supply("facility_power", "facility_power_kw", "site.facility_power"),
    _supply("heat_air", "heat_air_kw", "site.cooling.air_limit"),
    _supply("heat_liquid", "heat_liquid_kw", "site.cooling.liquid_limit"),
    _supply("racks", "racks", "site.racks"),
    _supply("weight", "weight_kg", "site.weight_limit"),
    _supply("capex", "capex_usd", "budget.capex", "capital budget"),
    _yearly("opex", "operating budget", "opex_usd_per_year"),
    _supply("tco", "tco_usd", "budget.tco", "TCO budget"),
    Limit(
        "per_useful_gpu_hour", "cost of a useful GPU-hour", "usd_per_useful_gpu_hour", "<=",
        "USD", "budget.per_useful_gpu_hour", "ratio", tolerance=TIMED,
    ),
    Limit(
        "per_million_tokens", "cost of a million tokens", "usd_per_million_tokens", "<=",
        "USD", "budget.per_million_tokens", "ratio", tolerance=TIMED,
    ),
    Limit(
        "lead_time", "longest lead time", "lead_time_days", "<=", "days", "targets.max_lead_time",
        "count",
    ),
    _fixed("stock.*", "stock of *", "purchased", "<=", "units", "items.*.stock", "count",
           editable=True),
    _fixed("hot_spares.*", "hot spares of *", "idle", ">=", "systems", f"{_JOB}.gpus.hot_spares",
           "count"),
    _fixed("require_vendor.*", "units from *", "working", ">=", "units",
           "policy.require_vendors.*", "policy"),
    _fixed("split.*", "largest vendor's share of *", "share", "<=", "share",
           "policy.split.*.max_share", "policy", editable=True),
    _fixed("blocking", "time blocked by checkpoints", "blocking", "<=", "share",
           f"{_CHECKPOINT}.max_blocking", "job", tolerance=TIMED),
    _fixed("overlap", "drain overlap", "overlap", "<=", "share", f"{_CHECKPOINT}.max_overlap",
           "job", tolerance=TIMED),
    _fixed("drain_fits", "stall and drain within the interval", "stall_and_drain_s", "<=", "s",
           f"{_CHECKPOINT}.interval", "job", tolerance=TIMED),
    _fixed("local_fits", "stall and local drain within the interval",
           "local_stall_and_drain_s", "<=",
           "s", f"{_CHECKPOINT}.interval", "job", tolerance=TIMED),
    _fixed("local_lag", "local restart and drain within the MTTI", "local_restart_and_drain_s",
           "<=", "s", f"{_JOB}.restart.local", "job", tolerance=TIMED),
    _fixed("local_room", "local checkpoints on the drives of a system", "room_tb", "<=", "TB",
           f"{_CHECKPOINT}.local.keep", "job"),
    _fixed("restore_time", "restore time", "restore_s", "<=", "s", f"{_JOB}.restore.max_time",
           "job", tolerance=TIMED),
    _fixed("capacity", "usable capacity", "usable_tb", ">=", "TB", f"{_CHECKPOINT}.keep_last",
           "storage"),
    _fixed("ingest", "ingest", "ingest_gb_per_s", "<=", "GB/s", f"{_JOB}.ingest_per_gpu",
           "storage", tolerance=TIMED),
    _fixed("bulk_capacity", "usable bulk capacity", "bulk.usable_tb", ">=", "TB",
           f"{_JOB}.dataset", "storage"),
    _fixed("bulk_read", "read from the bulk tier", "ingest_gb_per_s", "<=", "GB/s",
           f"{_JOB}.ingest_per_gpu", "storage", tolerance=TIMED),
    _fixed("staging", "staging on flash beside checkpoints", "ingest_gb_per_s", "<=", "GB/s",
           f"{_JOB}.ingest_per_gpu", "storage", tolerance=TIMED),
    _fixed("burst_recovery", "recovery of write buffers", "burst.recovery_s",
           "<=", "s", "", "storage", tolerance=TIMED),
    _fixed("endurance", "write endurance", "write_volume_tb_per_day", "<=", "TB/day", "",
           "storage", tolerance=TIMED),
    _fixed("rule_read", "* rule, read", "read_gb_per_s", ">=", "GB/s", "storage.rule", "storage",
           tolerance=TIMED),
    _fixed("rule_write", "* rule, write", "write_gb_per_s", ">=", "GB/s", "storage.rule",
           "storage", tolerance=TIMED),
    _fixed("replica_fits", "GPUs that hold one replica", "gpus_used", ">=", "GPUs",
           f"{_JOB}.parallelism", "job"),
    Limit("gpus_min", "minimum GPUs in use", "gpus_used", ">=", "GPUs", f"{_JOB}.gpus.min", "job"),
    Limit("gpus_max", "maximum GPUs in use", "gpus_used", "<=", "GPUs", f"{_JOB}.gpus.max", "job"),
    _fixed("gpu_types", "GPU types of the job", "gpu_types", "<=", "types",
           f"{_JOB}.gpus.max_types", "job", asked="GPU types of one job"),
    _target("min_gpus", "gpus_used", asked="minimum GPUs in use",
            tolerance=COUNTED),
    _target("min_goodput", "goodput", asked="minimum goodput"),
    _target("min_useful_gpus", "useful_gpus", asked="minimum useful GPUs", written="number"),
    _target("min_useful_pflops", "useful_pflops", asked="minimum useful work", written="number"),
    Limit("max_days_to_train", "days to train", "days_to_train", "<=", "days",
          "targets.max_days_to_train", "target", tolerance=TIMED),
    _fixed("interval_max", "longest interval", "interval_s", "<=", "s",
           f"{_CHECKPOINT}.interval.max", "job", reported=False),
    _fixed("interval_min", "shortest interval", "interval_s", ">=", "s",
           f"{_CHECKPOINT}.interval.min", "job", reported=False),
    _fixed("min_units.*", "minimum order (MOQ) of *", "working", ">=", "units", "", "count"),
    _fixed("max_units.*", "maximum *", "working", "<=", "units", "", "count"),
    _fixed("items.*.fixed", "* fixed", "quantity", "<=", "units", "items.*.fixed", "count",
           exact=True, editable=True),
    _fixed("items.*.min", "* at least", "quantity", ">=", "units", "items.*.min", "count",
           editable=True),
    _fixed("items.*.max", "* at most", "quantity", "<=", "units", "items.*.max", "count",
           editable=True),
    _fixed("items.*.installed", "* installed", "quantity", ">=", "units",
           "items.*.installed", "count"),
    _fixed("family_max_units.*", "maximum units in one * system", "working", "<=", "units", "",
           "count"),
)  # fmt: skip
"""In the order in which a plan reports them."""

BY_NAME: Mapping[str, Limit] = {limit.name: limit for limit in LIMITS}


def named(name: str) -> Limit:
    """The row of a limit by its name in a plan, such as ``items.some_sku.max``.

    Raises:
        KeyError: there is no such limit.
    """
    found = known(name)
    if found is None:
        raise KeyError(name)
    return found


@lru_cache(maxsize=4096)
def known(name: str) -> Limit | None:
    """The row of a limit, None for one of another version's plan."""
    kind, _, rest = name.partition(".")
    several = f"{kind}.*.{rest.rpartition('.')[2]}" if kind == "items" else f"{kind}.*"
    return BY_NAME.get(name, BY_NAME.get(several))


def path_of(name: str) -> str:
    """Path of a limit in a problem file, by its name in a plan; "" where it has none.

    Raises:
        KeyError: there is no such limit.
    """
    kind, _, rest = name.partition(".")
    return named(name).path.replace("*", rest.rpartition(".")[0] if kind == "items" else rest)


@cache
def of_group(*groups: Group) -> tuple[Limit, ...]:
    """The limits of some groups, in the order of the table."""
    return tuple(limit for limit in LIMITS if limit.group in groups)


SUPPLIES = of_group("supply")
"""Limits on sums over a purchase."""
