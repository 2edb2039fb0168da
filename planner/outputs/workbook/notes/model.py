"""What a plan counts and what it does not, in plain words, by what the plan has."""

from __future__ import annotations

from collections.abc import Iterator

from planner.outputs import scope
from planner.outputs.words import NETWORKS, number, percent
from planner.schema.plan import JobPlan, Plan

Entry = tuple[str, str]
"""A topic and what there is to say of it."""

_COMPANIONS = ("Network", "Optics & cables", "Racks & power", "Software")


def entries(plan: Plan, *, money: bool) -> list[Entry]:
    """Return what the plan counts and leaves out, topic by topic.

    Args:
        plan: the plan.
        money: whether the edition shows any.
    """
    result = [*_scope(money), *_bill(plan, money), *_site(plan)]
    if plan.jobs:
        result += [*_network(plan), *_storage(plan, plan.jobs[0]), *_job(plan.jobs[0])]
    if money:
        result += _money(plan)
    return result


def _scope(money: bool) -> Iterator[Entry]:
    yield (
        "Scope",
        "One job on one site, and one purchase at once. Growth over time, further sites and other "
        "work on the same cluster are not planned.",
    )
    more = ", freight, duties and taxes" if money else ""
    yield (
        "Not in any bill",
        "The building: feeds, UPS, generators, chillers, floor, cable trays, fire protection. "
        f"Services: installation, commissioning, training of staff{more}.",
    )


def _bill(plan: Plan, money: bool) -> Iterator[Entry]:
    present = {line.section for line in scope.own_lines(plan)}
    counted = [section for section in _COMPANIONS if section in present]
    absent = [section for section in _COMPANIONS if section not in present]
    if counted:
        text = f"Beside GPU systems and storage the bill counts: {', '.join(counted)}."
        if absent:
            text += f" It has no lines for: {', '.join(absent)}."
        yield "The bill", text
        yield (
            "Edited quantities",
            "Lines of these sections keep their solved counts when the quantities of GPU systems "
            "or storage are edited: solve again for what a changed cluster needs.",
        )
    elif present:
        takes = "draw power, take room and have a price" if money else "draw power and take room"
        yield (
            "The bill",
            "GPU systems and storage only. Switches, optics, cables, racks, PDUs, cooling and "
            f"licences {takes} as well; none of that is counted here.",
        )


def _site(plan: Plan) -> Iterator[Entry]:
    yield (
        "Power",
        "IT power is the maximum draw of everything in place, at the same time. Cables, racks, "
        "PDUs and software draw nothing. Power at the meter is IT power x PUE, whatever the load "
        "and the weather.",
    )
    if scope.cooled_by_liquid(plan):
        yield (
            "Heat",
            "A fixed share of each item's heat goes to liquid, as its catalog says; the rest goes "
            "to the air of the room. Flow rates, temperatures and pumps are not modelled.",
        )
    if plan.racks:
        yield (
            "Racks",
            "Every device has a position within the height and the power of its rack, and its "
            "weight where both are known. GPU systems and storage stand in racks of their own "
            "item; network and management devices share the fewest racks that hold them all. "
            "Floor load and cable lengths are not checked.",
        )
    yield (
        "Weight",
        "Known weights only; transceivers, cables and software are not weighed.",
    )


def _network(plan: Plan) -> Iterator[Entry]:
    if not plan.fabrics:
        yield (
            "Network",
            "No fabric is planned: the job is taken to run at its MFU whatever connects the "
            "systems.",
        )
        return
    present = {fabric.network for fabric in plan.fabrics}
    absent = [name for network, name in NETWORKS.items() if network not in present]
    text = (
        "Fabrics are fat trees, spread evenly and built for whole units; optics and cables follow "
        "from their links. Congestion, routing and latency are not modelled: the MFU stands for "
        "them. Cables have the length their catalog names; no routes are planned."
    )
    if absent:
        text += f" Not planned: {', '.join(absent)}."
    yield "Network", text


def _storage(plan: Plan, job: JobPlan) -> Iterator[Entry]:
    site = plan.site
    yield (
        "Storage bandwidth",
        f"{percent(site.delivered_fraction_write, 0)} of the rated bandwidth for writing and "
        f"{percent(site.delivered_fraction_read, 0)} for reading, or what the GPU systems can "
        "take, if that is less. Production systems have delivered far less than rated. Small "
        "files, metadata and other users of the storage are not modelled.",
    )
    if job.tolerate_down:
        noun = "appliance" if job.tolerate_down == 1 else "appliances"
        text = (
            f"The limits on checkpoint and restore hold with {job.tolerate_down} storage {noun} "
            "down; goodput counts all of them."
        )
    else:
        text = "All storage appliances are taken to be up; none is planned for one that is down."
    yield "Storage that fails", text


def _job(job: JobPlan) -> Iterator[Entry]:
    spares = ""
    if job.hot_spare_systems == 1:
        spares = " One system runs idle, ready to step in."
    elif job.hot_spare_systems:
        spares = f" {job.hot_spare_systems:,} systems run idle, ready to step in."
    rate = number(job.failures_per_gpu_day * 1000 * 30, 1)
    yield (
        "Failures",
        f"They strike at random and at a constant rate, {rate} a month per 1,000 GPUs, whatever "
        "their cause; published rates differ tenfold. Failures of many parts at once are not "
        "modelled. The job is taken to run on as many GPUs after each restart as before; how long "
        f"repairs take is not modelled.{spares}",
    )
    held = ""
    if job.mode == "async":
        held = " The systems' own drives are taken to hold it while it drains."
    yield (
        "Checkpoints",
        f"Every checkpoint has the same size and is written in full.{held} The interval does not "
        "follow edited quantities; Checkpoint shows the best one beside it.",
    )
    yield (
        "Training rate",
        "GPUs in use x peak rate x MFU x goodput. The MFU is an input and the same for any number "
        "of GPUs.",
    )


def _money(plan: Plan) -> Iterator[Entry]:
    yield (
        "Prices",
        "Those of the price books, with the confidence they state; none is an offer. A price that "
        "is not known is blank and flagged, and a sum without it says that it is a known part.",
    )
    if plan.site.years is None:
        return
    basis = "typical" if plan.site.energy_basis == "typical" else "maximum"
    yield (
        "Cost over the term",
        f"Purchase, support, subscriptions, colocation, and energy on {basis} draw in every hour "
        "of the year. Inflation, financing, staff, taxes and what the equipment is worth at the "
        "end are not counted.",
    )
