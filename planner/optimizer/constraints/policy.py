"""What the buyer wants of vendors.

    sum_{k of vendor} x_k >= 1;   sum_{k of vendor} w_k x_k <= share * sum_k w_k x_k

One unit more of a share is that much more that one vendor may supply.
"""

from __future__ import annotations

from planner.optimizer.context import Build
from planner.optimizer.model import total


def add(build: Build) -> None:
    """Add a row for each required vendor, and for each vendor of a split category."""
    policy, units = build.case.policy, build.units
    for number, ids in enumerate(policy.required):
        some = total(units[item_id] for item_id in ids) if ids else -1 * build.gpus  # impossible
        build.model.row(f"require_vendor_{number}", some, ">=", 1.0)
    for number, split in enumerate(policy.splits):
        scale = max((weight for _, weight in split.weights), default=1.0) or 1.0
        weights = {item_id: weight / scale for item_id, weight in split.weights}
        whole = total(weight * units[item_id] for item_id, weight in weights.items())
        for place, (_, ids) in enumerate(split.vendors):
            part = total(weights[item_id] * units[item_id] for item_id in ids)
            row = part - split.max_share * whole
            build.model.row(f"split_{number}_{place}", row, "<=", 0.0)
