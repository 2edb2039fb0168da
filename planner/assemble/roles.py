"""What each companion is for, in words."""

from __future__ import annotations

from collections import defaultdict

from planner.assemble.fabrics import fabric_reports
from planner.case import Case
from planner.loader.inputs import Inputs
from planner.optimizer.purchase import Bill
from planner.schema.plan import FabricReport

NETWORKS = {
    "compute": "compute",
    "storage": "storage",
    "in_band": "in-band",
    "out_of_band": "out-of-band",
}


def roles(inputs: Inputs, case: Case, spent: Bill) -> dict[str, str]:
    """Return what each companion of a plan is for, by item id."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for report in fabric_reports(case, spent):
        texts[report.switch_sku].append(_switches(report))
    for companion in case.kit.companions:
        names = [name for _, name in companion.terms if spent.counts[name]]
        for text in dict.fromkeys(_reason(name) for name in names):
            if text and not any(text in known for known in texts[companion.id]):
                texts[companion.id].append(text)
    _facility(inputs, texts)
    return {item_id: "; ".join(parts) for item_id, parts in texts.items() if parts}


def _switches(report: FabricReport) -> str:
    tiers = (
        (report.leaf_switches, "leaf"),
        (report.spine_switches, "spine"),
        (report.core_switches, "core"),
    )
    parts = [f"{count} {name}" for count, name in tiers if count]
    return f"{NETWORKS[report.network]}: {', '.join(parts)}"


def _reason(name: str) -> str:
    """Return the network behind a count."""
    for network, words in NETWORKS.items():
        if name.startswith(network):
            return words
    return ""


def _facility(inputs: Inputs, texts: defaultdict[str, list[str]]) -> None:
    site = inputs.problem.site
    if site.rack is not None and site.rack.pdu is not None:
        texts[site.rack.pdu.item].append(f"{site.rack.pdu.redundancy} in every rack")
    if site.cooling.cdu is not None:
        texts[site.cooling.cdu].append(f"{site.cooling.redundancy} for heat to liquid")
    for item_id in inputs.problem.software:
        known = {item.id: item for item in inputs.items}
        licence = known[item_id].licence
        if licence is not None:
            texts[item_id].append(f"per {licence.per.replace('_', ' ')}")
