"""Every limit of a problem once: its figure, and its path in the file.

Rows of the solver, levers, the limits a plan reports, setters of an audit, rows on
the sheet ``Performance``, groups of sweeps, verification and the table in ``docs/model.md`` follow
from ``LIMITS``. A limit on a sum over the bill is one row here; the share of one unit
is in ``planner.figures.STATED`` where catalogs state it, else in ``planner.case.figures.SUMS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from planner.figures import FIGURES, STATED
from planner.paths import job_path

Group = Literal["supply", "ratio", "target", "job", "storage", "count", "policy"]
"""``supply`` is used up by a purchase alone, a ``ratio`` is money per useful work."""

COUNTED = 1e-9
TIMED = 1e-7
"""Tolerated excess over a limit, as a share: of sums of the bill, and of results of logarithms."""
COUNTED_IN = frozenset({"racks", "units", "GPUs", "systems", "families", "ports"})
"""Units of limits in whole numbers."""
MILLION = 1e6
"""Money in the model is in millions of USD, so that its numbers are of the size solvers like."""
_COUNTED = {"gpus_used", "gpu_types", "usable_tb", "bulk.usable_tb", "room_tb", "interval_s"}
"""Figures of limits on the job and its storage that no logarithm is in."""
_INPUTS = {"lead_time", "stock.*", "split.*", "gpus_min", "gpus_max"}
_INPUTS |= {"items.*.fixed", "items.*.min", "items.*.max"}


class Limit(NamedTuple):
    """One limit.

    ``figure`` is the compared figure, by its name in a plan's totals or job; ``path`` its place in
    the problem file ("" where it follows from products). Names and labels of a limit per item or
    rule have a ``*``.
    """

    name: str
    label: str
    figure: str
    sense: Literal["<=", ">="]
    unit: str
    path: str
    group: Group

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
        floor = self.group == "target" and self.sense == ">="
        return f"minimum {self.label}" if floor else self.label

    @property
    def file_unit(self) -> str:
        """Its unit in a problem file."""
        return "number" if self.name.startswith("min_useful") else self.unit.removesuffix("/year")

    @property
    def looser(self) -> Literal[1, -1]:
        """Direction in which it admits more plans."""
        return 1 if self.sense == "<=" else -1

    @property
    def tolerance(self) -> float:
        """Tolerated excess, as a share."""
        of_bill = self.group in ("supply", "count", "policy") or self.figure in _COUNTED
        return COUNTED if of_bill else TIMED

    @property
    def editable(self) -> bool:
        """True if it is an input of the workbook; others follow, or have a cell of their own."""
        return self.group in ("supply", "ratio", "target") or self.name in _INPUTS

    @property
    def exact(self) -> bool:
        """True if it requires equality."""
        return self.name == "items.*.fixed"


_UNITS = {
    **dict.fromkeys(("working", "purchased", "quantity"), "units"),
    **dict.fromkeys(("stall_and_drain_s", "local_stall_and_drain_s"), "s"),
    **{"local_restart_and_drain_s": "s", "room_tb": "TB"},
    **{"share": "share", "gpu_types": "types", "endpoints": "ports"},
}
"""Units of figures that are of one line, one level or one moment, and in no table of figures."""
_INTERVAL = "~checkpoint.interval"
_ROWS: tuple[tuple[Group, str, str, Literal["<=", ">="], str, *tuple[str, ...]], ...] = (
    ("supply", "it_power", "it_power_kw", "<=", "site.it_power"),
    ("supply", "facility_power", "facility_power_kw", "<=", "site.facility_power"),
    ("supply", "heat_air", "heat_air_kw", "<=", "site.cooling.air_limit"),
    ("supply", "heat_liquid", "heat_liquid_kw", "<=", "site.cooling.liquid_limit"),
    ("supply", "racks", "racks", "<=", "site.racks"),
    ("supply", "weight", "weight_kg", "<=", "site.weight_limit"),
    ("supply", "capex", "capex_usd", "<=", "budget.capex", "capital budget"),
    ("supply", "opex", "opex_usd_per_year", "<=", "budget.opex_per_year", "operating budget"),
    ("supply", "tco", "tco_usd", "<=", "budget.tco", "TCO budget"),
    ("ratio", "per_useful_gpu_hour", "usd_per_useful_gpu_hour", "<=", "budget.per_useful_gpu_hour"),
    ("ratio", "per_million_tokens", "usd_per_million_tokens", "<=", "budget.per_million_tokens"),
    ("count", "lead_time", "lead_time_days", "<=", "targets.max_lead_time"),
    ("count", "stock.*", "purchased", "<=", "items.*.stock", "stock of *"),
    ("policy", "require_vendor.*", "working", ">=", "policy.require_vendors.*", "units from *"),
    ("policy", "split.*", "share", "<=", "policy.split.*.max_share", "largest vendor's share of *"),
    ("job", "blocking", "blocking", "<=", "~checkpoint.max_blocking"),
    ("job", "overlap", "overlap", "<=", "~checkpoint.max_overlap"),
    ("job", "drain_fits", "stall_and_drain_s", "<=", _INTERVAL, "stall and drain per interval"),
    ("job", "local_fits", "local_stall_and_drain_s", "<=", _INTERVAL, "stall and local drain"),
    (
        "job",
        "local_lag",
        "local_restart_and_drain_s",
        "<=",
        "~checkpoint.local.restart",
        "restart and drain",
    ),
    ("job", "local_room", "room_tb", "<=", "~checkpoint.local.keep", "local checkpoints held"),
    ("job", "restore_time", "restore_s", "<=", "~restore.max_time"),
    ("storage", "capacity", "usable_tb", ">=", "~checkpoint.keep_last"),
    ("storage", "ingest", "ingest_demand_gb_per_s", "<=", "~ingest_per_gpu", "ingest"),
    ("storage", "bulk_capacity", "bulk.usable_tb", ">=", "~dataset"),
    ("storage", "bulk_read", "ingest_demand_gb_per_s", "<=", "~ingest_per_gpu", "bulk tier read"),
    ("storage", "staging", "ingest_demand_gb_per_s", "<=", "~ingest_per_gpu", "staging on flash"),
    ("storage", "burst_recovery", "burst.recovery_s", "<=", ""),
    ("storage", "endurance", "write_volume_tb_per_day", "<=", "", "write endurance"),
    ("storage", "rule_read", "nameplate_read_gb_per_s", ">=", "storage.rule", "* rule, read"),
    ("storage", "rule_write", "nameplate_write_gb_per_s", ">=", "storage.rule", "* rule, write"),
    ("job", "replica_fits", "gpus_used", ">=", "~parallelism", "GPUs that hold one replica"),
    ("job", "gpus_min", "gpus_used", ">=", "~gpus.min", "minimum GPUs in use"),
    ("job", "gpus_max", "gpus_used", "<=", "~gpus.max", "maximum GPUs in use"),
    ("job", "gpu_types", "gpu_types", "<=", "~gpus.max_types", "GPU types of the job"),
    ("target", "min_goodput", "goodput", ">=", "targets.min_goodput"),
    ("target", "min_useful_gpus", "useful_gpus", ">=", "targets.min_useful_gpus"),
    ("target", "min_useful_pflops", "useful_pflops", ">=", "targets.min_useful_pflops"),
    ("target", "max_days_to_train", "days_to_train", "<=", "targets.max_days_to_train"),
    ("job", "interval_max", "interval_s", "<=", "~checkpoint.interval.max", "longest interval"),
    ("job", "interval_min", "interval_s", ">=", "~checkpoint.interval.min", "shortest interval"),
    ("count", "min_units.*", "working", ">=", "", "minimum order (MOQ) of *"),
    ("count", "max_units.*", "working", "<=", "", "maximum *"),
    ("count", "items.*.fixed", "quantity", "<=", "items.*.fixed", "* fixed"),
    ("count", "items.*.min", "quantity", ">=", "items.*.min", "* at least"),
    ("count", "items.*.max", "quantity", "<=", "items.*.max", "* at most"),
    ("count", "items.*.installed", "quantity", ">=", "items.*.installed", "* installed"),
    ("count", "family_max_units.*", "working", "<=", "", "maximum units in one * system"),
    ("count", "fabric.*", "endpoints", "<=", "", "ports of the largest * fabric"),
)
"""Group, name, figure, sense, path (``~``: of the job), label where not that of the figure."""


def _limit(
    group: Group, name: str, figure: str, sense: Literal["<=", ">="], path: str, *label: str
) -> Limit:
    path = job_path(path[1:]) if path.startswith("~") else path
    unit = _UNITS.get(figure) or FIGURES[figure].unit
    return Limit(name, "".join(label) or FIGURES[figure].label, figure, sense, unit, path, group)


LIMITS: tuple[Limit, ...] = tuple(_limit(*row) for row in _ROWS)
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
