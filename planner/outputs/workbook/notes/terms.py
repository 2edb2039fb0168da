"""The terms on the sheets and the conventions of their figures."""

from __future__ import annotations

from planner.outputs import scope
from planner.outputs.workbook.notes.model import Entry
from planner.schema.plan import Plan

_CHECKPOINT = (
    ("Binding limit", "One that leaves no room for one more unit: what stops a better plan."),
    ("Blocking", "Share of the checkpoint interval in which the GPUs stand still: stall / "
     "interval."),
    ("Drain", "The time in which storage takes up a checkpoint while the GPUs go on."),
    ("Fan-out", "How many times a checkpoint is read in a restore: 1 where one reader passes it "
     "on, more where several replicas read it."),
    ("Gap", "How much better, relative to the value, any other plan could be at most: proven, "
     "not estimated."),
    ("Goodput", "Share of the wall-clock time that becomes progress that is kept."),
    ("Interval", "From the start of one checkpoint to the start of the next."),
    ("MFU", "Model FLOP/s utilisation: share of a GPU's peak rate that the job turns into work "
     "on the model."),
    ("MTTI", "Mean time to interruption of the job; the more GPUs, the shorter."),
    ("Overlap", "Share of the interval in which storage drains: drain / interval."),
    ("Replica", "A copy of the model, over as many GPUs as tensor and pipeline parallelism take."),
    ("Restart, restore", "After a failure: detecting, replacing and starting again; then reading "
     "the newest checkpoint."),
    ("Rework", "Work since the newest checkpoint, lost in a failure and computed again."),
    ("Stall", "The time the GPUs stop for each checkpoint."),
    ("Useful GPUs", "GPUs in use x goodput: as many that never stop would do the same work."),
)  # fmt: skip
_SITE = (
    ("IT power", "What the equipment draws, before cooling and losses of the site."),
    ("PUE", "Power usage effectiveness: power at the meter / IT power."),
    ("RU", "Rack unit, a height of 44.45 mm."),
)
_FABRIC = (
    ("Leaf, spine, core", "Switches of a fabric: at the systems, between leaves, between groups."),
    ("Oversubscription", "Downlinks per uplink of a leaf; 1:1 has as much up as down."),
)
_RACKS = (
    ("CDU", "Coolant distribution unit: moves heat from the systems' liquid to the site's."),
    ("PDU", "Power distribution unit of a rack. N: as many as feed it, N+1: one more, 2N: twice "
     "as many."),
)  # fmt: skip
_SPARES = (
    ("Cold spares", "Units bought and kept on a shelf: no power, no rack."),
    ("Hot spares", "Idle systems ready to step in: they draw power and take ports."),
)
_MONEY = (
    ("Capex", "What is paid once, for the purchase."),
    ("List, net", "The price before and after the discount."),
    ("Opex", "What is paid by the year: support, subscriptions, energy, colocation."),
    ("TCO", "Total cost of ownership: capex, and what is paid over the term, discounted where "
     "there is a rate."),
)  # fmt: skip


def glossary(plan: Plan, *, money: bool) -> list[Entry]:
    """Return the terms that this plan's sheets use, in alphabetical order.

    Args:
        plan: the plan.
        money: whether the edition shows any.
    """
    terms = [*_SITE, *(_CHECKPOINT if plan.jobs else ())]
    if plan.fabrics:
        terms += _FABRIC
    categories = {line.category for line in plan.lines}
    terms += [entry for entry in _RACKS if entry[0].lower() in categories]
    if any(line.spares for line in plan.lines) or any(job.hot_spare_systems for job in plan.jobs):
        terms += _SPARES
    if money:
        terms += _MONEY
    return sorted(terms, key=lambda entry: entry[0].casefold())


def conventions(plan: Plan, *, money: bool) -> list[Entry]:
    """Return how figures are meant.

    Args:
        plan: the plan.
        money: whether the edition shows any.
    """
    result = [
        ("Units", "Decimal: 1 TB is 1,000 GB or 10^12 bytes. A year has 8,760 hours."),
        ("As solved", "What the plan was when it was made. All else is live: it follows edited "
         "quantities and inputs, and the banner under each title says when something is edited."),
        ("Not known", "A figure that is not known is blank, never 0. n/a: cannot be worked out "
         "from what is given. A dash: none."),
        ("Protection", "Sheets are protected without a password, so that formulas are not "
         "overwritten by accident; inputs are open."),
    ]  # fmt: skip
    if money:
        result.append(
            ("Money", "US dollars, net of discounts, without taxes. Every line is rounded to "
             "cents, so that sums foot.")
        )  # fmt: skip
        if scope.over_time(plan) and plan.site.discount_rate:
            result.append(
                ("Discounting", "What is paid later counts less: each year's payments as at its "
                 "end, a last part year in proportion.")
            )  # fmt: skip
    return result
