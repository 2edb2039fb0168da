"""Commands, options and settings of version 0.1 that are gone, each with its successor."""

from __future__ import annotations

from collections.abc import Sequence

COMMANDS = {
    "alternatives": "planner compare --near '1 %' PROBLEM",
    "audit": "planner verify WORKBOOK.xlsx",
    "bid": "planner quote bid",
    "catalog check": "planner catalog --check",
    "catalog list": "planner catalog",
    "catalog show": "planner catalog ITEM",
    "frontier": "planner sweep --mode frontier",
    "report": "planner solve --html; compare and sweep write a page with -o",
    "rfq": "planner quote rfq",
    "schema": "planner check --schema NAME",
    "tornado": "planner sweep --mode tornado",
    "uncertain": "planner sweep --mode uncertain",
}

_IMPORT = "planner quote import FILE; give its FILE.quote.json as the bid"
OPTIONS = {
    "--dask": "--workers tcp://HOST:PORT",
    "--jobs": "--workers NUMBER",
    "catalog --incomplete": "planner check, which lists items with missing figures",
    "characterize --plan": "--gpus and --nameplate",
    "characterize --stamp": "--time",
    **{f"quote bid --{name}": _IMPORT for name in ("vendor", "map", "date", "currency")},
}
"""Options, after the command that alone had them."""
KEYWORDS = {
    **dict.fromkeys(("vendor", "mapping", "date", "currency"), _IMPORT),
    **{"jobs": "workers", "dask": "workers", "named": "scenarios"},
}
"""Keywords of Python."""
SCENARIO_TABLES = "write each row of a table as a scenario of the problem file"

_YEARLY = "use budget.opex_per_year, which is the sum of all that is paid in a year, or budget.tco"
_LEVEL = "give support_per_year in a price book of your own, and term.support_years"
_NOTE = "leave it out; write it into the quote sheet of the workbook"
_ARCHIVE = "add their size to dataset, such as 20 x 13.8 TB of checkpoints, 2 bytes per parameter"
_LINKS = "name cables and transceivers to your own network under extras"

SETTINGS = {
    "budget.colocation_per_year": _YEARLY,
    "budget.energy_per_year": _YEARLY,
    "budget.subscriptions_per_year": _YEARLY,
    "budget.support_per_year": _YEARLY,
    "include": "name the other files under catalogs or prices of the problem",
    "exchange": "state rates of exchange in the problem file",
    "items.beyond": "leave it out; name the cable or module that reaches in the switch's link",
    "items.consumes.design_power": "state the power to plan for as consumes.it_power",
    "items.lengths": "leave it out: the cable schedule states the length of each run",
    "items.local.endurance": "leave it out; choose drives that endure the plan's local writes",
    "items.power_points.power": "leave it out: it follows from gpu_cap and the GPUs' rated power",
    "items.public_note": _NOTE,
    "items.required": "use min: 1",
    "items.service.of": "leave it out: per hardware counts all hardware",
    "items.sizes": "give provides.read and provides.write of a unit, the least of any size",
    "items.support_level": _LEVEL,
    "items.support_years": "use term.support_years, for all items",
    "items.trade": "leave it out; state it under facts, or in description",
    "jobs.checkpoint.local.drain": "leave it out: a restart begins a drain to storage anew",
    "jobs.checkpoint.exports": _ARCHIVE,
    "jobs.checkpoint.milestones": _ARCHIVE,
    "jobs.failures.rate": "use failures.per_gpu_day, which takes a name such as llama3, too",
    "jobs.gpus.hot_spares": "use repair, such as {share: 78 %, time: 24 h, spares: 2}",
    "jobs.power.curve": "state it in a catalog: power_points of the GPU system",
    "jobs.power.reading": "leave it out; state an end of the range as throughput in a catalog",
    "jobs.repair.classes": "give share, the sum of the shares, and time, their weighted mean",
    "jobs.restart": "use restore.restart, and checkpoint.local.restart from a local copy",
    "jobs.restore.readers": "leave it out: every GPU system in use reads",
    "jobs.trained_share": "give checkpoint.size: the bytes of the trained parameters",
    "jobs.training.scale.interleave": "give scale.table: shares of the rate at numbers of GPUs",
    "jobs.training.scale.micro_batches": "give scale.table: shares of the rate at numbers of GPUs",
    "network.compute.leaf_pair": "leave it out: leaves are joined by spines",
    "network.compute.single_switch": "leave it out: one switch serves where all links fit on it",
    "network.in_band.edge": _LINKS,
    "network.storage.edge": _LINKS,
    "network.storage.storage_oversubscription": "use oversubscription, for all leaves of a fabric",
    "policy.split.measure": "leave it out: shares are of units",
    "prices.public_note": _NOTE,
    "prices.support_high": "leave it out; state the range in note",
    "prices.support_level": _LEVEL,
    "prices.support_levels": _LEVEL,
    "prices.support_low": "leave it out; state the range in note",
    "public_notes": _NOTE,
    "site.floor.rows": "leave it out: the cable schedule states the length of each run",
    "site.power_basis": "leave it out; state the power to plan for as consumes.it_power",
    "storage.exact_families": "use storage.max_families, and items.ITEM.min: 1 for families",
    "storage.rule.per_gpus": "give read and write for one GPU: divide both by per_gpus",
    "targets.min_gpus": "use jobs.gpus.min: gpus: {min: 1024} in the job",
    "term.support_level": _LEVEL,
}
"""Keys of problem files, catalogs and price books, without ids of items and places in lists."""


def setting_successor(steps: Sequence[str | int]) -> str | None:
    """The successor of a removed setting by its place in a file, else None."""
    names = [str(step) for step in steps if not str(step).isdigit()]
    with_id = names[:1] in (["items"], ["prices"])
    of_item = [*names[:1], *names[2 if with_id else 1 :]]
    return SETTINGS.get(".".join(names)) or SETTINGS.get(".".join(of_item))
