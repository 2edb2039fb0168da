"""Every figure of a plan and every objective, once: label, unit, digits.

Screens, sheets, pages, tables and studies read labels and units here; `tests/test_limits.py` walks
them. A figure's name is its field in `planner.schema.plan`, dotted where it is inside another. The
unit is the one the field is in; an output may write it larger (MUSD, min), but calls it the same.
Labels begin in lower case unless they are a name.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Group = Literal["work", "checkpoint", "storage", "loss", "site", "money"]
Sense = Literal["maximize", "minimize"]
Need = Literal["term", "rate", "tokens", "parameters", "draw"]
"""Inputs of figures; the draw is stated by catalogs."""

BTU_PER_H_PER_KW = 3412.14
"""BTU/h of 1 kW."""


class Figure(NamedTuple):
    """A figure; a limit on it, or an objective, requires its ``needs``."""

    name: str
    label: str
    unit: str
    group: Group
    note: str = ""
    needs: tuple[Need, ...] = ()

    @property
    def money(self) -> bool:
        """True if only editions with prices show it."""
        return self.group == "money"

    @property
    def title(self) -> str:
        """The label with its unit, where neither values nor label have it."""
        clear = self.unit in ("USD", "USD/year", "s", "share", "") or self.names_unit
        return self.label if clear else f"{self.label}, {self.unit}"

    @property
    def names_unit(self) -> bool:
        """True if the label contains the unit as a word."""
        return self.unit.casefold() in self.label.casefold().split()


def capital(text: str) -> str:
    """A text with a capital first letter."""
    return text[:1].upper() + text[1:]


_FIGURES: dict[Group, tuple[tuple[str, ...], ...]] = {
    "work": (
        ("gpus", "GPUs in place", "GPUs", "bought or owned, used or not"),
        ("gpus_used", "GPUs in use", "GPUs"),
        ("gpu_systems", "GPU systems", "systems"),
        ("systems_used", "GPU systems in use", "systems"),
        ("useful_pflops", "useful work", "PFLOP/s", "useful GPUs x peak rate x MFU"),
        ("useful_gpus", "useful GPUs", "GPUs", "GPUs in use x goodput"),
        ("goodput", "goodput", "share", "share of time with kept progress (ETTR)"),
        ("days_to_train", "days to train", "days"),
        ("replicas", "data-parallel replicas", "replicas"),
        ("replica_gpus", "GPUs that hold one replica", "GPUs"),
        ("tflops_per_gpu", "peak rate of one GPU", "TFLOP/s"),
        ("mfu", "model FLOP/s utilisation (MFU)", "share"),
        ("scale_share", "scaling efficiency", "share"),
        ("rate_share", "efficiency of set point and scale", "share"),
        ("tokens", "tokens to train on", "tokens"),
        ("active_parameters", "parameters active per token", "parameters"),
        ("failures_per_gpu_day", "job-interrupting failures per GPU and day", "1/day"),
        ("repair.availability", "time not spent waiting for repairs", "share"),
        ("repair.load", "units in repair if the job never waited", "units"),
        ("repair.spares", "hot spare units", "units"),
        ("repair.unit_gpus", "GPUs of one spare unit", "GPUs"),
        ("repair.hardware_share", "interruptions with a hardware repair", "share"),
        ("repair.repair_s", "repair time (MTTR)", "s"),
        ("repair.swap_s", "replacement time of failed hardware", "s", "on top of the restart"),
        ("shrunk.running", "running replicas, average", "share"),
        ("shrunk.failing", "failures of running replicas, share of all", "share"),
        ("shrunk.least_replicas", "fewest running replicas", ""),
    ),
    "checkpoint": (
        ("checkpoint_gb", "checkpoint size", "GB"),
        ("bytes_per_parameter", "checkpoint bytes per parameter", "B"),
        ("interval_s", "checkpoint interval", "s", "start to start"),
        ("stall_s", "checkpoint stall", "s", "GPU stall per checkpoint"),
        ("drain_s", "checkpoint drain", "s", "write to storage while the GPUs train"),
        ("overlap", "drain overlap", "share", "drain / interval"),
        ("blocking", "time blocked by checkpoints", "share", "stall / interval"),
        ("drain_slowdown", "slowdown of the GPUs while draining", "share"),
        ("mtti_s", "mean time to interruption", "s"),
        ("restart_s", "restart without the read", "s"),
        ("restore_s", "restore time", "s", "reading the checkpoint back"),
        ("fan_out", "restore fan-out", "times", "times the checkpoint is read"),
        ("max_overlap", "largest drain overlap", "share"),
        ("max_blocking", "largest time blocked by checkpoints", "share"),
        ("checkpoints_held", "checkpoints held", "checkpoints", "the one being written included"),
    ),
    "loss": (
        ("loss.stall", "stalls and slowdown", "share", "GPUs stopped or slowed by checkpoints"),
        ("loss.rework", "rework", "share", "progress since the newest checkpoint, lost"),
        ("loss.drain", "lost work, checkpoint in flight", "share", "not yet on storage"),
        ("loss.restart", "restarts", "share"),
        ("loss.restore", "restores", "share", "reading the checkpoint back"),
        (
            "lost_time",
            "lost time besides failures",
            "share",
            "evaluation, people, network, slow starts",
        ),
        ("loss.other", "other lost time", "share", "evaluation, people, network, slow starts"),
        ("loss.waiting", "waiting for repairs", "share", "more units in repair than spares"),
        ("budget.stall", "stalls", "share"),
        ("budget.slowdown", "slowdown", "share", "GPUs slower while storage drains"),
        ("budget.shrunk", "fewer replicas", "share", "while units are out for repair"),
    ),
    "storage": (
        ("nameplate_read_gb_per_s", "nameplate read bandwidth", "GB/s"),
        ("nameplate_write_gb_per_s", "nameplate write bandwidth", "GB/s"),
        ("delivered_read_gb_per_s", "delivered read bandwidth", "GB/s"),
        ("delivered_write_gb_per_s", "delivered write bandwidth", "GB/s"),
        ("degraded_read_gb_per_s", "delivered read bandwidth, degraded", "GB/s"),
        ("degraded_write_gb_per_s", "delivered write bandwidth, degraded", "GB/s"),
        ("client_read_limit_gb_per_s", "client read limit, all GPU systems", "GB/s"),
        ("client_write_limit_gb_per_s", "client write limit, all GPU systems", "GB/s"),
        ("reading_systems", "GPU systems reading", "systems"),
        ("writing_systems", "GPU systems writing", "systems"),
        ("ingest_demand_gb_per_s", "training data read", "GB/s"),
        ("storage_units", "storage units", "units"),
        ("usable_tb", "usable capacity", "TB"),
        ("capacity_needed_tb", "usable capacity needed", "TB"),
        ("other_data_tb", "other data held", "TB", "data set and exports"),
        ("burst.delivered_write_gb_per_s", "delivered write bandwidth in a burst", "GB/s"),
        ("burst.delivered_sustained_gb_per_s", "delivered write bandwidth, sustained", "GB/s"),
        ("burst.buffer_gb", "write buffers beyond the sustained rate", "GB"),
        ("burst.recovery_s", "recovery of write buffers", "s"),
        ("bulk.needed_tb", "bulk capacity needed", "TB", "data set at the fill limit"),
        ("bulk.usable_tb", "usable bulk capacity", "TB"),
        ("bulk.delivered_read_gb_per_s", "delivered bulk read bandwidth", "GB/s"),
        ("bulk.staging_gb_per_s", "staging bandwidth beside checkpoints", "GB/s"),
        ("write_volume_tb_per_day", "checkpoint volume written", "TB/day"),
        ("tolerate_down", "appliances that may be down", "appliances"),
    ),
    "site": (
        ("it_power_kw", "IT load", "kW", "nameplate power draw of all devices"),
        ("typical_power_kw", "typical IT load", "kW", "nameplate where typical is not known"),
        ("facility_power_kw", "facility power", "kW", "IT load x PUE"),
        ("heat_btu_per_h", "heat", "BTU/h"),
        ("heat_air_kw", "air-cooled load", "kW"),
        ("heat_liquid_kw", "liquid-cooled load", "kW"),
        ("rack_units", "rack units", "RU"),
        ("racks", "racks", "racks"),
        ("weight_kg", "weight", "kg"),
        ("lead_time_days", "longest lead time", "days", "of the purchases"),
        ("pue", "PUE", "", "power usage effectiveness, air-cooled load"),
        ("pue_liquid", "PUE of liquid-cooled load", ""),
        ("delivered_fraction_read", "delivered fraction of nameplate read", "share"),
        ("delivered_fraction_write", "delivered fraction of nameplate write", "share"),
        ("fill_limit", "storage fill limit", "share", "largest share of usable capacity in use"),
        ("years", "term", "years"),
    ),
    "money": (
        ("capex_usd", "capex", "USD", "one-time payments"),
        ("opex_usd_per_year", "opex per year", "USD/year"),
        ("support_usd_per_year", "support per year", "USD/year"),
        ("subscriptions_usd_per_year", "subscriptions per year", "USD/year"),
        ("energy_usd_per_year", "energy per year", "USD/year"),
        ("colocation_usd_per_year", "colocation per year", "USD/year"),
        ("tco_usd", "TCO", "USD", "total cost of ownership: capex and payments over the term"),
        ("usd_per_useful_gpu_hour", "cost of a useful GPU-hour", "USD", "TCO / useful GPU-hours"),
        ("usd_per_million_tokens", "cost of a million tokens", "USD", "TCO / tokens of the term"),
        ("electricity_usd_per_kwh", "price of electricity", "USD/kWh"),
        ("colocation_usd_per_kw_month", "price of colocation", "USD/kW/month"),
        ("discount_rate", "discount rate", "share"),
    ),
}
"""By group: name, label, unit, and a note where the label does not say it."""
_DRAW: tuple[Need, ...] = ("draw",)
_PAID: tuple[Need, ...] = ("term", "draw")
"""Needs of figures with money for energy."""
_NEEDS: dict[str, tuple[Need, ...]] = {
    "useful_pflops": ("rate",),
    "days_to_train": ("rate", "tokens", "parameters"),
    **dict.fromkeys(("it_power_kw", "facility_power_kw", "heat_btu_per_h"), _DRAW),
    **dict.fromkeys(("heat_air_kw", "heat_liquid_kw"), _DRAW),
    **dict.fromkeys(("opex_usd_per_year", "energy_usd_per_year", "tco_usd"), _PAID),
    **dict.fromkeys(("colocation_usd_per_year", "usd_per_useful_gpu_hour"), _PAID),
    "usd_per_million_tokens": (*_PAID, "rate", "parameters"),
}
FIGURES: dict[str, Figure] = {
    name: Figure(name, label, unit, group, "".join(note), _NEEDS.get(name, ()))
    for group, rows in _FIGURES.items()
    for name, label, unit, *note in rows
}
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
        clear = self.figure.money or self.figure.names_unit
        return self.label if clear else f"{self.unit} of {self.label}"


_OBJECTIVES: tuple[tuple[str, str, Sense, str], ...] = (
    ("goodput", "useful_pflops", "maximize", "min_useful_pflops"),
    ("useful_gpus", "useful_gpus", "maximize", "min_useful_gpus"),
    ("gpus", "gpus_used", "maximize", "gpus_min"),
    ("cost", "capex_usd", "minimize", "capex"),
    ("tco", "tco_usd", "minimize", "tco"),
    ("power", "it_power_kw", "minimize", "it_power"),
    ("heat", "heat_btu_per_h", "minimize", "it_power"),
    ("usd_per_useful_gpu_hour", "usd_per_useful_gpu_hour", "minimize", "per_useful_gpu_hour"),
    ("usd_per_million_tokens", "usd_per_million_tokens", "minimize", "per_million_tokens"),
)
OBJECTIVES: dict[str, Objective] = {
    name: Objective(name, FIGURES[of], sense, limit, BTU_PER_H_PER_KW if name == "heat" else 1.0)
    for name, of, sense, limit in _OBJECTIVES
}
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


IT_POWER = Stated("it_power_kw", (DRAW,))
HEAT_TO_LIQUID = Stated("heat_liquid_kw", (DRAW, TO_LIQUID))
"""Figures of which lines, totals and columns say more than of others."""

STATED: dict[str, Stated] = {
    "rack_units": Stated("rack_units", ("consumes.rack_units",), DRAWLESS | {"transceiver"}),
    # Racks and PDUs state their weight.
    "weight_kg": Stated(
        "weight_kg", ("consumes.weight",), DRAWLESS - {"rack", "pdu"} | {"transceiver"}
    ),
}
"""By the name of the figure, in the order in which the bill has them."""

_BY_UNIT = {
    "GPUs": "provides.gpus spare_unit.tray",
    "GB/s": "provides.read provides.write provides.burst_write client.write "
    "client.read local.write local.host_copy",
    "s": "provides.burst_window",
    "TB": "provides.usable local.capacity",
    "TB/day": "provides.endurance",
    "kW": "consumes.it_power consumes.typical_power provides.cooling provides.feed gpu.tdp",
    "racks": "consumes.racks",
    "GB": "gpu.memory",
    "TFLOP/s": "gpu.bf16_dense gpu.fp8_dense",
    "1/day": "gpu.failures_per_day",
    "units": "min_units max_units",
    "nodes": "fail_units",
    "m": "reach",
}
ITEM_UNITS = {
    **{row.paths[0]: row.figure.unit for row in STATED.values() if len(row.paths) == 1},
    **{path: unit for unit, paths in _BY_UNIT.items() for path in paths.split()},
}
"""The unit of every figure of a catalog item but shares, by its dotted name."""
