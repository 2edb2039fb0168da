"""Every figure of a plan and every objective, once: label, unit, digits.

Screens, sheets, pages, tables and studies read labels and units here; `tests/test_figures.py` walks
them. A figure's name is its field in `planner.schema.plan`, dotted where it is inside another. The
unit is the one the field is in; an output may write it larger (MUSD, min), but calls it the same.
Labels begin in lower case unless they are a name; `Figure.heading` is one as the head of a row or
column. Sums of catalog figures over the bill are rows of ``STATED``, too.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Group = Literal["work", "checkpoint", "storage", "loss", "site", "money"]
Sense = Literal["maximize", "minimize"]
Need = Literal["term", "rate", "tokens", "parameters", "draw"]
"""Inputs of figures; the draw is stated by catalogs."""

OVER_THE_TERM: tuple[Need, ...] = ("term", "draw")
"""Needs of figures with money for energy."""

BTU_PER_H_PER_KW = 3412.14
"""BTU/h of 1 kW."""


class Figure(NamedTuple):
    """A figure: label, unit, digits, note.

    ``digits``: decimals of its headline, of a share's percentage. A limit on it, or an objective,
    requires what it ``needs``.
    """

    name: str
    label: str
    unit: str
    group: Group
    digits: int = 1
    note: str = ""
    needs: tuple[Need, ...] = ()

    @property
    def money(self) -> bool:
        """True if only editions with prices show it."""
        return self.group == "money"

    @property
    def title(self) -> str:
        """The label with its unit, where neither values nor label have it."""
        return self._with_unit(self.label, ("USD", "USD/year", "s", "share", ""))

    @property
    def heading(self) -> str:
        """The label with a capital letter."""
        return capital(self.label)

    @property
    def column(self) -> str:
        """The heading with its unit: of a column of bare numbers."""
        return self._with_unit(self.heading, ("share", ""))

    def _with_unit(self, label: str, clear: tuple[str, ...]) -> str:
        unit_is_clear = self.unit in clear or self.names_unit(self.unit)
        return label if unit_is_clear else f"{label}, {self.unit}"

    def names_unit(self, unit: str) -> bool:
        """True if the label contains a unit as a word."""
        return unit.casefold() in self.label.casefold().split()


def capital(text: str) -> str:
    """A text with a capital first letter."""
    return text[:1].upper() + text[1:]


FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        # Work of the job.
        Figure("gpus", "GPUs in place", "GPUs", "work", 0, "bought or owned, used or not"),
        Figure("gpus_used", "GPUs in use", "GPUs", "work", 0),
        Figure("gpu_systems", "GPU systems", "systems", "work", 0),
        Figure("systems_used", "GPU systems in use", "systems", "work", 0),
        Figure("useful_pflops", "useful work", "PFLOP/s", "work", 1,
               "useful GPUs x peak rate x model FLOP/s utilisation", needs=("rate",)),
        Figure("useful_gpus", "useful GPUs", "GPUs", "work", 1,
               "GPUs in use x goodput: equivalent GPUs at 100 % goodput"),
        Figure("goodput", "goodput", "share", "work", 2, "share of time with kept progress (ETTR)"),
        Figure("goodput_understated", "goodput is too low by", "share", "work", 4,
               "drains slow the GPUs, but not in the first interval after a restart"),
        Figure("days_to_train", "days to train", "days", "work", 1,
               needs=("rate", "tokens", "parameters")),
        Figure("replicas", "data-parallel replicas", "replicas", "work", 2),
        Figure("replica_gpus", "GPUs that hold one replica", "GPUs", "work", 0),
        Figure("idle_gpus", "idle GPUs in systems in use", "GPUs", "work", 0),
        Figure("hot_spare_systems", "hot spares", "systems", "work", 0),
        Figure("tflops_per_gpu", "peak rate of one GPU", "TFLOP/s", "work", 1),
        Figure("mfu", "model FLOP/s utilisation (MFU)", "share", "work", 1),
        Figure("scale_share", "scaling efficiency", "share", "work", 2),
        Figure("rate_share", "efficiency of set point and scale", "share", "work", 2),
        Figure("tokens", "tokens to train on", "tokens", "work", 0),
        Figure("active_parameters", "parameters active per token", "parameters", "work", 0),
        Figure("failures_per_gpu_day", "job-interrupting failures per GPU and day", "1/day",
               "work"),
        # Spares and repairs.
        Figure("repair.availability", "time not spent waiting for repairs", "share", "work", 2),
        Figure("repair.load", "units in repair if the job never waited", "units", "work", 2),
        Figure("repair.spares", "hot spare units", "units", "work", 0),
        Figure("repair.unit_gpus", "GPUs of one spare unit", "GPUs", "work", 0),
        Figure("repair.units_out", "units in repair, average", "units", "work", 2),
        Figure("repair.waiting_h_per_year", "waiting for repairs", "h/year", "work", 1),
        Figure("repair.hardware_share", "interruptions with a hardware repair", "share", "work", 1),
        Figure("repair.repair_s", "repair time (MTTR)", "s", "work", 1),
        Figure("repair.swap_s", "replacement time of failed hardware", "s", "work", 1,
               "on top of the restart"),
        Figure("repair.next_spare_gpus", "useful GPUs per additional spare", "GPUs",
               "work", 1),
        # Where a job goes on with fewer replicas while units are out.
        Figure("shrunk.running", "running replicas, average", "share", "work", 2),
        Figure("shrunk.failing", "failures of running replicas, share of all", "share",
               "work", 2),
        Figure("shrunk.least_replicas", "fewest running replicas", "", "work", 0),
        Figure("shrunk.restarts_per_year", "restarts with more replicas", "1/year", "work", 1),
        Figure("shrunk.restart_s", "restart with more replicas, from its capture", "s", "work", 1),
        Figure("shrunk.short_h_per_year", "time with fewer than all replicas", "h/year", "work", 1),
        Figure("shrunk.stopped_h_per_year", "time below the fewest replicas", "h/year", "work", 1),
        Figure("shrunk.late", "repaired units waiting to rejoin", "share", "work", 2),
        # The rhythm of its checkpoints.
        Figure("checkpoint_gb", "checkpoint size", "GB", "checkpoint", 2),
        Figure("bytes_per_parameter", "checkpoint bytes per parameter", "B", "checkpoint", 2),
        Figure("interval_s", "checkpoint interval", "s", "checkpoint", 1, "start to start"),
        Figure("stall_s", "checkpoint stall", "s", "checkpoint", 1,
               "GPU stall per checkpoint"),
        Figure("drain_s", "checkpoint drain", "s", "checkpoint", 1,
               "write to storage per checkpoint while the GPUs train"),
        Figure("overlap", "drain overlap", "share", "checkpoint", 2, "drain / interval"),
        Figure("blocking", "time blocked by checkpoints", "share", "checkpoint", 2,
               "stall / interval"),
        Figure("drain_slowdown", "slowdown of the GPUs while draining", "share", "checkpoint", 1),
        Figure("mtti_s", "mean time to interruption", "s", "checkpoint", 1),
        Figure("restart_s", "restart without the read", "s", "checkpoint", 1),
        Figure("restore_s", "restore time", "s", "checkpoint", 1, "reading the checkpoint back"),
        Figure("fan_out", "restore fan-out", "times", "checkpoint", 2,
               "times the checkpoint is read"),
        Figure("max_overlap", "largest drain overlap", "share", "checkpoint", 1),
        Figure("max_blocking", "largest time blocked by checkpoints", "share", "checkpoint", 1),
        Figure("checkpoints_held", "checkpoints held", "checkpoints", "checkpoint", 0,
               "the one being written included"),
        Figure("degraded_drain_s", "write of one checkpoint, degraded", "s", "checkpoint"),
        Figure("degraded_restore_s", "restore time, degraded", "s", "checkpoint"),
        # Where its time goes: shares of it.
        Figure("loss.stall", "stalls and slowdown", "share", "loss", 2,
               "the GPUs stop for a checkpoint, or are slower while storage drains it"),
        Figure("loss.rework", "rework", "share", "loss", 2,
               "progress since the start of the newest checkpoint, lost in a failure"),
        Figure("loss.drain", "lost work, checkpoint in flight", "share", "loss", 2,
               "the newest checkpoint had not reached storage when a failure came"),
        Figure("loss.restart", "restarts", "share", "loss", 2),
        Figure("loss.restore", "restores", "share", "loss", 2, "reading the checkpoint back"),
        Figure("lost_time", "lost time besides failures", "share", "loss", 2,
               "of the time between restarts: evaluation, people, network, slow starts"),
        Figure("loss.other", "other lost time", "share", "loss", 2,
               "evaluation, restarts by people, network faults, slow starts"),
        Figure("loss.waiting", "waiting for repairs", "share", "loss", 2,
               "more units in repair than spares"),
        # The same as counted by a simulation, with slowdown apart from stalls.
        Figure("budget.stall", "stalls", "share", "loss", 2),
        Figure("budget.slowdown", "slowdown", "share", "loss", 2,
               "the GPUs are slower while storage drains a checkpoint"),
        Figure("budget.shrunk", "fewer replicas", "share", "loss", 2,
               "fewer replicas run while units are out for repair"),
        # Storage: nameplate and delivered.
        Figure("read_gb_per_s", "nameplate read bandwidth", "GB/s", "storage", 1),
        Figure("write_gb_per_s", "nameplate write bandwidth", "GB/s", "storage", 1),
        Figure("delivered_read_gb_per_s", "delivered read bandwidth", "GB/s", "storage", 1),
        Figure("delivered_write_gb_per_s", "delivered write bandwidth", "GB/s", "storage", 1),
        Figure("degraded_read_gb_per_s", "delivered read bandwidth, degraded", "GB/s", "storage"),
        Figure("degraded_write_gb_per_s", "delivered write bandwidth, degraded", "GB/s", "storage"),
        Figure("client_read_limit_gb_per_s", "client read limit, all GPU systems", "GB/s",
               "storage"),
        Figure("client_write_limit_gb_per_s", "client write limit, all GPU systems", "GB/s",
               "storage"),
        Figure("reading_systems", "GPU systems reading", "systems", "storage", 0),
        Figure("writing_systems", "GPU systems writing", "systems", "storage", 0),
        Figure("ingest_gb_per_s", "training data read", "GB/s", "storage", 2),
        Figure("storage_units", "storage units", "units", "storage", 0),
        Figure("usable_tb", "usable capacity", "TB", "storage", 1),
        Figure("capacity_needed_tb", "usable capacity needed", "TB", "storage", 1),
        Figure("other_data_tb", "other data held", "TB", "storage", 1, "data set and exports"),
        Figure("burst.write_gb_per_s", "delivered write bandwidth in a burst", "GB/s",
               "storage", 1),
        Figure("burst.sustained_gb_per_s", "delivered write bandwidth, sustained", "GB/s",
               "storage", 1),
        Figure("burst.buffer_gb", "write buffers beyond the sustained rate", "GB", "storage", 0),
        Figure("burst.recovery_s", "recovery of write buffers", "s", "storage", 0),
        Figure("bulk.dataset_tb", "data set in bulk", "TB", "storage", 1),
        Figure("bulk.archives_tb", "archives in bulk", "TB", "storage", 1,
               "milestones and exports"),
        Figure("bulk.staged_tb", "data staged on flash", "TB", "storage", 1),
        Figure("bulk.needed_tb", "bulk capacity needed", "TB", "storage", 1,
               "data set, milestones and exports, up to the fill limit"),
        Figure("bulk.usable_tb", "usable bulk capacity", "TB", "storage", 1),
        Figure("bulk.read_gb_per_s", "delivered bulk read bandwidth", "GB/s", "storage", 1),
        Figure("bulk.staging_gb_per_s", "staging bandwidth beside checkpoints", "GB/s", "storage",
               1),
        Figure("write_volume_tb_per_day", "checkpoint volume written", "TB/day", "storage", 1),
        Figure("tolerate_down", "appliances that may be down", "appliances", "storage", 0),
        # The site: power, heat, space, delivery.
        Figure("it_power_kw", "IT load", "kW", "site", 1, "nameplate power draw of all devices",
               needs=("draw",)),
        Figure("typical_power_kw", "typical IT load", "kW", "site", 1,
               "nameplate where the typical draw is not known"),
        Figure("facility_power_kw", "facility power", "kW", "site", 1,
               "IT load x PUE", needs=("draw",)),
        Figure("heat_btu_per_h", "heat", "BTU/h", "site", 0, needs=("draw",)),
        Figure("heat_air_kw", "air-cooled load", "kW", "site", 1, needs=("draw",)),
        Figure("heat_liquid_kw", "liquid-cooled load", "kW", "site", 1, needs=("draw",)),
        Figure("rack_units", "rack units", "RU", "site", 1),
        Figure("racks", "racks", "racks", "site", 0),
        Figure("weight_kg", "weight", "kg", "site", 0),
        Figure("lead_time_days", "longest lead time", "days", "site", 0, "of the purchases"),
        Figure("pue", "PUE", "", "site", 3, "power usage effectiveness, air-cooled load"),
        Figure("pue_liquid", "PUE of liquid-cooled load", "", "site", 3),
        Figure("delivered_fraction_read", "delivered fraction of nameplate read", "share",
               "site", 1),
        Figure("delivered_fraction_write", "delivered fraction of nameplate write", "share",
               "site", 1),
        Figure("fill_limit", "storage fill limit", "share", "site", 1,
               "the largest share of the usable capacity in use"),
        Figure("years", "term", "years", "site", 1),
        # Money.
        Figure("capex_usd", "capex", "USD", "money", 0, "one-time payments"),
        Figure("opex_usd_per_year", "opex per year", "USD/year", "money", 0, needs=OVER_THE_TERM),
        Figure("support_usd_per_year", "support per year", "USD/year", "money", 0),
        Figure("subscriptions_usd_per_year", "subscriptions per year", "USD/year", "money", 0),
        Figure("energy_usd_per_year", "energy per year", "USD/year", "money", 0,
               needs=OVER_THE_TERM),
        Figure("colocation_usd_per_year", "colocation per year", "USD/year", "money", 0,
               needs=OVER_THE_TERM),
        Figure("tco_usd", "TCO", "USD", "money", 0,
               "total cost of ownership: capex and payments over the term",
               needs=OVER_THE_TERM),
        Figure("usd_per_useful_gpu_hour", "cost of a useful GPU-hour", "USD", "money", 2,
               "TCO / useful GPU-hours of the term", needs=OVER_THE_TERM),
        Figure("usd_per_million_tokens", "cost of a million tokens", "USD", "money", 2,
               "TCO / tokens trained in the term", needs=(*OVER_THE_TERM, "rate", "parameters")),
        Figure("electricity_usd_per_kwh", "price of electricity", "USD/kWh", "money", 3),
        Figure("colocation_usd_per_kw_month", "price of colocation", "USD/kW/month", "money", 2),
        Figure("discount_rate", "discount rate", "share", "money", 2),
    )
}  # fmt: skip
"""Every figure by its name, in the order in which outputs list them."""


class Objective(NamedTuple):
    """An objective: its name in the problem's file, its figure, and its sense.

    ``limit``: name of the limit that keeps a plan no worse, ``per`` of the objective's unit each. A
    figure that is no sum over the bill (``planner.case.figures.SUMS``) needs its expression in
    ``planner.optimizer.objective``.
    """

    name: str
    figure: Figure
    sense: Sense
    limit: str
    per: float = 1.0

    @property
    def label(self) -> str:
        """Label of its figure."""
        return self.figure.label

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return self.figure.unit

    @property
    def counted(self) -> str:
        """Unit of its label, unless either contains the other."""
        unit_is_clear = self.figure.money or self.figure.names_unit(self.unit)
        return self.label if unit_is_clear else f"{self.unit} of {self.label}"


OBJECTIVES: dict[str, Objective] = {
    objective.name: objective
    for objective in (
        Objective("goodput", FIGURES["useful_pflops"], "maximize", "min_useful_pflops"),
        Objective("useful_gpus", FIGURES["useful_gpus"], "maximize", "min_useful_gpus"),
        Objective("gpus", FIGURES["gpus_used"], "maximize", "min_gpus"),
        Objective("cost", FIGURES["capex_usd"], "minimize", "capex"),
        Objective("tco", FIGURES["tco_usd"], "minimize", "tco"),
        Objective("power", FIGURES["it_power_kw"], "minimize", "it_power"),
        Objective("heat", FIGURES["heat_btu_per_h"], "minimize", "it_power", BTU_PER_H_PER_KW),
        Objective("usd_per_useful_gpu_hour", FIGURES["usd_per_useful_gpu_hour"], "minimize",
                  "per_useful_gpu_hour"),
        Objective("usd_per_million_tokens", FIGURES["usd_per_million_tokens"], "minimize",
                  "per_million_tokens"),
    )
}  # fmt: skip
"""Every objective by its name, in the order in which the problem's schema lists them."""

RATIOS = frozenset({"usd_per_useful_gpu_hour", "usd_per_million_tokens"})
"""Objectives that are money per useful work."""


def objective_label(name: str) -> str:
    """Label of an objective; of a hidden or unknown one its name in words."""
    return OBJECTIVES[name].label if name in OBJECTIVES else name.replace("_", " ")


def objective_unit(name: str) -> str:
    """Unit of an objective, empty where studies have several or none."""
    return OBJECTIVES[name].unit if name in OBJECTIVES else ""


DRAWLESS = frozenset({"cable", "rack", "pdu", "software", "service"})
"""Categories of which no unit draws power."""
DRAW, TO_LIQUID = "consumes.it_power", "consumes.liquid_share"
UNSTATED = {TO_LIQUID: 0.0}
"""Values of figures that an item need not state, such as no draw of a cable."""


class Stated(NamedTuple):
    """A catalog figure of one unit that a bill sums over all in place.

    ``name``: the figure, the product of an item's figures at ``paths``; a bundle has that of its
    components. Categories in ``none_of`` have none. It need not be known: a limit then holds the
    known part, and an objective plans only with items that state it.
    """

    name: str
    paths: tuple[str, ...]
    none_of: frozenset[str] = DRAWLESS

    @property
    def figure(self) -> Figure:
        """Its figure."""
        return FIGURES[self.name]

    @property
    def follows_draw(self) -> bool:
        """True if a power cap scales it."""
        return DRAW in self.paths

    @property
    def asked(self) -> tuple[str, ...]:
        """Catalog paths without which it is not known."""
        return tuple(path for path in self.paths if path not in UNSTATED)

    @property
    def of_one(self) -> str:
        """Its name of one unit."""
        return f"unit_{self.name}"


IT_POWER = Stated("it_power_kw", (DRAW,))
HEAT_TO_LIQUID = Stated("heat_liquid_kw", (DRAW, TO_LIQUID))
"""Figures of which lines, totals and columns say more than of others."""

STATED: dict[str, Stated] = {
    row.name: row
    for row in (
        Stated("rack_units", ("consumes.rack_units",),
               frozenset({"transceiver", "cable", "rack", "pdu", "software", "service"})),
        # Of these nobody states it, and no floor gives way for it.
        Stated("weight_kg", ("consumes.weight",),
               frozenset({"transceiver", "cable", "software", "service"})),
    )
}  # fmt: skip
"""By the name of the figure, in the order in which the bill has them."""

ITEM_UNITS = {
    **{row.paths[0]: row.figure.unit for row in STATED.values() if len(row.paths) == 1},
    "provides.gpus": "GPUs", "provides.read": "GB/s", "provides.write": "GB/s",
    "provides.usable": "TB", "provides.endurance": "TB/day", "consumes.it_power": "kW",
    "consumes.racks": "racks", "consumes.typical_power": "kW",
    "provides.cooling": "kW", "provides.feed": "kW",
    "gpu.memory": "GB", "gpu.bf16_dense": "TFLOP/s", "gpu.fp8_dense": "TFLOP/s", "gpu.tdp": "kW",
    "gpu.failures_per_day": "1/day", "spare_unit.tray": "GPUs",
    "client.write": "GB/s", "client.read": "GB/s", "min_units": "units", "max_units": "units",
    "fail_units": "nodes", "local.write": "GB/s", "local.capacity": "TB",
    "local.host_copy": "GB/s", "reach": "m",
}  # fmt: skip
"""The unit of every figure of a catalog item, by its dotted name."""
