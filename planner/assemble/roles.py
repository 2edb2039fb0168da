"""What each companion is for, in words."""

from __future__ import annotations

from collections import defaultdict

from planner.assemble.fabrics import fabric_reports
from planner.case import Case
from planner.case.fabrics import WORDS
from planner.optimizer.purchase import Bill
from planner.schema.plan import FabricReport


def roles(case: Case, spent: Bill) -> dict[str, str]:
    """Return what each companion of a plan is for, by item id."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for report in fabric_reports(case, spent):
        texts[report.switch_sku].append(_switches(report))
    for companion in case.companions.items:
        pairs = zip(companion.terms, companion.roles, strict=True)
        known = texts[companion.id]
        for role in dict.fromkeys(role for (_, name), role in pairs if spent.counts[name]):
            if not any(text.startswith(role) for text in known):
                known.append(role)
    return {item_id: "; ".join(parts) for item_id, parts in texts.items() if parts}


def _switches(report: FabricReport) -> str:
    tiers = (
        (report.leaf_switches, "leaf"),
        (report.spine_switches, "spine"),
        (report.core_switches, "core"),
    )
    parts = [f"{count} {name}" for count, name in tiers if count]
    return f"{WORDS[report.network]}: {', '.join(parts)}"
