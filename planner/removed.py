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
OPTIONS = {
    "--all": "--full",
    "--bill": "--also bill.csv,bill.json",
    "--cables": "--also cables",
    "--curve": "planner sweep --mode frontier --html",
    "--dask": "--workers tcp://HOST:PORT",
    "--dist": "--vary PATH=DISTRIBUTION",
    "--file": "--html, and -o for its folder",
    "--jobs": "--workers",
    "--lines": "--show lines",
    "--log-job": "--log FILE=JOB",
    "--named": "--scenarios NAME, or --scenarios all",
    "--nameplate-read": "--nameplate WRITE,READ",
    "--netbox": "--also netbox",
    "--network": "--show network",
    "--no-workbook": "nothing: sweep always writes its workbook",
    "--notes": "--full; of solve --show notes",
    "--prices": "--audience customer-list or customer-no-prices",
    "--proof": "--full; of solve --show proof",
    "--quotes": "the files after the problem: planner quote bid PROBLEM.yaml QUOTE.xlsx",
    "--run": "--show run",
    "--study": "--also why,rules,alternatives",
    "--unplannable": "--incomplete",
    "--verbose": "--full",
    "--within": "--near SHARE",
    "--workbook": "nothing: sweep always writes its workbook",
}


SETTINGS = {
    "jobs.training.scale.interleave": "multiply micro_batches by it: the bubble is the same",
    "policy.split.measure": "leave it out: shares are of units",
}
"""Keys of a problem file, positions in lists left out."""


def setting_successor(steps: Sequence[str | int]) -> str | None:
    """The successor of a removed setting by its place in a problem file, else None."""
    return SETTINGS.get(".".join(str(step) for step in steps if not str(step).isdigit()))


def successor(command: str = "", option: str = "") -> str | None:
    """The successor of a command or an option, None where it was never one."""
    return OPTIONS.get(option) if option else COMMANDS.get(command)
