"""An item's figures as the problem needs them; what is not known stays None."""

from __future__ import annotations

import math
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from planner.case.cabling import longest_run_m, part_that_reaches
from planner.case.choices import Choice, choices
from planner.case.model import Drives
from planner.case.quantities import RackDevice, RackUse
from planner.case.quantities import rack_use as pack
from planner.case.repair import SpareUnit
from planner.figures import DRAW, DRAWLESS, HEAT_TO_LIQUID, IT_POWER, STATED, UNSTATED, Stated
from planner.inputs import Inputs, needs, once_for_each, weights_gb_per_gpu
from planner.paths import of_job
from planner.schema.base import Bandwidth
from planner.schema.catalog import Figure, Item, Port, PortGroup, Switch
from planner.schema.problem import Job, Problem
from planner.schema.running import DEFAULT_FAILURES
from planner.schema.site import Site
from planner.sizing import checkpoint as sizing
from planner.sizing.goodput import FAILURES_PER_GPU_DAY
from planner.sizing.placement import Space
from planner.sizing.throughput import MemoryNeed

if TYPE_CHECKING:
    from planner.schema.plan import RackClassName

ALMOST = 1 + 1e-9
RACK_CLASSES: dict[str, RackClassName] = {"gpu_system": "gpu", "storage": "storage"}
CLIENT_GB_PER_S_PER_GPU = 1.0
"""One buffered writer thread per GPU moves about 1 GB/s: 8 per DGX in S. Kartik and C. Tartow, VAST
Data, "A Checkpoint on Checkpoints in LLMs", 2024-01-10."""


def parts(item: Item, inputs: Inputs) -> list[tuple[Item, int]]:
    """Return what one unit is made of: itself, or its components with their quantities."""
    if not item.components:
        return [(item, 1)]
    return [(inputs.by_id[part.id], part.quantity) for part in item.components]


@once_for_each
def it_power_kw(item: Item, inputs: Inputs) -> float | None:
    """Return the maximum draw of one unit, kW; None where any part's is not known."""
    return stated(item, inputs, IT_POWER)


def rack_power_kw(item: Item, inputs: Inputs) -> float:
    """Return what one device can draw in its rack, kW: a switch with all its transceivers.

    The transceivers are lines of their own in the bill; in the rack they draw where they are.
    """
    draw = it_power_kw(item, inputs) or 0.0
    if item.switch is None:
        return draw
    known, run_m = inputs.by_id, longest_run_m(inputs)
    fitted = [0.0]
    for group in item.switch.ports:
        end = group.link.switch_end if group.link is not None else None
        if end is not None:
            module = known[part_that_reaches(end.item, known, run_m)]
            each = it_power_kw(module, inputs) or 0.0
            fitted.append(-(-group.count // end.links) * each)
    return draw + max(fitted)


@once_for_each
def typical_power_kw(item: Item, inputs: Inputs) -> float | None:
    """Return the typical draw of one unit, kW: the maximum of parts where it is not known."""
    if it_power_kw(item, inputs) is None:
        return None
    return sum(_typical_kw(part, inputs) * quantity for part, quantity in parts(item, inputs))


@once_for_each
def liquid_kw(item: Item, inputs: Inputs) -> float:
    """Return the heat of one unit that goes to liquid, kW; 0 where the draw is not known."""
    return stated(item, inputs, HEAT_TO_LIQUID) or 0.0


def meter_kw(item: Item, inputs: Inputs) -> float:
    """Return the draw of one unit at the meter, kW, by where its heat goes at full draw."""
    most = it_power_kw(item, inputs) or 0.0
    return metered_kw(most, liquid_kw(item, inputs) / most if most else 0.0, inputs.problem.site)


def metered_kw(draw_kw: float, liquid: float, site: Site) -> float:
    """Return a draw at the meter, kW, of which a share goes to liquid."""
    return draw_kw * (liquid * site.pue_liquid + (1.0 - liquid) * site.pue_air)


def _draw(part: Item, inputs: Inputs) -> Figure[float] | None:
    """Return the draw that counts: the maximum, or what a reference design provides."""
    designed = inputs.problem.site.power_basis == "design"
    return (designed and part.consumes.design_power) or part.consumes.it_power


def _typical_kw(part: Item, inputs: Inputs) -> float:
    figure = part.consumes.typical_power or _draw(part, inputs)
    return figure.value if figure is not None and part.category not in DRAWLESS else 0.0


@once_for_each
def rack_units(item: Item, inputs: Inputs) -> float | None:
    """Return the height of one unit, RU; None where any part's is not known."""
    return stated(item, inputs, STATED["rack_units"])


def stated(item: Item, inputs: Inputs, row: Stated) -> float | None:
    """Return what one unit has of a figure; None where any part's is not known."""
    if item.category in row.none_of:
        return 0.0
    total = 0.0
    for part, quantity in parts(item, inputs):
        own = _product(part, inputs, row)
        if own is None:
            return None
        total += own * quantity
    return total


_at = cache(attrgetter)


def _product(part: Item, inputs: Inputs, row: Stated) -> float | None:
    """Return a figure of what has no parts: nothing where a factor is 0, whatever the others."""
    product: float | None = 1.0
    for path in row.of:
        figure = _draw(part, inputs) if path == DRAW else _at(path)(part)
        factor = UNSTATED.get(path) if figure is None else figure.value
        if factor == 0.0:
            return 0.0
        product = None if product is None or factor is None else product * factor
    return product


def rack_use(item: Item, inputs: Inputs) -> RackUse | None:
    """Return how an item uses racks; None without rack data, or where it does not fit."""
    rack, space = inputs.problem.site.rack, rack_space(inputs.problem, class_of(item))
    if item.consumes.racks is not None:
        racks, draw = item.consumes.racks.value, it_power_kw(item, inputs)
        limit = inputs.problem.site.whole_rack_limit_kw if rack is not None else None
        too_hungry = limit is not None and draw is not None and draw > racks * limit * ALMOST
        return None if too_hungry else RackUse(racks_each=racks)
    if space is None:
        return None
    devices = []
    for part, quantity in parts(item, inputs):
        height, power, weight = (
            part.consumes.rack_units,
            _draw(part, inputs),
            part.consumes.weight,
        )
        if height is None or (power is None and space.power_kw is not None):
            return None
        devices.append(
            RackDevice(
                height.value,
                power.value if power else 0.0,
                weight.value if weight else None,
                quantity,
            )
        )
    return pack(devices, space)


def class_of(item: Item) -> RackClassName:
    """Return the class of racks an item stands in."""
    return RACK_CLASSES.get(item.category, "network")


def rack_space(problem: Problem, name: RackClassName) -> Space | None:
    """Return what a rack of a class holds, or None without rack data."""
    rack = problem.site.rack
    if rack is None:
        return None
    own = getattr(problem.site.rack_classes, name)
    return Space(
        own.height_ru or rack.height_ru,
        problem.site.class_power_kw(own),
        rack.weight_kg if own.weight_kg is None else own.weight_kg,
    )


def options_on(item: Item, job: Job) -> tuple[str, ...]:
    """Return by name how a replica may be spread on a GPU system, of a job that gives several."""
    if len(job.options) < 2:
        return ()
    return tuple(one.name for one in job.options if no_spread(item, job.spread(one)) is None)


@once_for_each
def choices_on(item: Item, inputs: Inputs) -> list[Choice]:
    """Return what the plan may choose from on a GPU system: set points, precisions, rates."""
    job, power = inputs.problem.job, it_power_kw(item, inputs)
    rated = needs(inputs.problem, "rate")
    found = []
    for option in job.options or (None,):
        there = job.spread(option)
        if no_spread(item, there) is None:
            found += choices(item, there, power, rated=rated)
    return found


def failures_per_gpu_day(item: Item, job: Job) -> float:
    """Return the failure rate: the problem's, else the catalog's, else the default."""
    if job.failure_rate is None and item.gpu.failures_per_day is not None:
        return item.gpu.failures_per_day.value
    rate = job.failure_rate or DEFAULT_FAILURES
    return FAILURES_PER_GPU_DAY[rate].value if isinstance(rate, str) else rate


def drives(item: Item, job: Job) -> Drives | None:
    """Return the drives for a local level of checkpoints, None where there is none to plan."""
    local = item.local
    if job.levels is None or local.write is None or local.capacity is None:
        return None
    endurance = local.endurance.value if local.endurance else None
    return Drives(local.write.value, local.capacity.value, endurance)


def endurance_tb_per_day(item: Item, inputs: Inputs) -> float | None:
    """Return what may be written to a unit of storage a day, TB; None where nothing limits it.

    What its catalog states, else what its flash is rated for: raw capacity times drive writes a
    day, of several kinds of flash the least, since all of them take what is written.
    """
    stated, rated = item.provides.endurance, inputs.problem.storage.dwpd.model_dump()
    if inputs.problem.storage.endurance == "off":
        return None
    if stated is not None:
        return stated.value
    flash = derived_endurance(item, inputs)
    return min((raw_tb * rated[kind] for kind, raw_tb in flash), default=None)


def derived_endurance(item: Item, inputs: Inputs) -> list[tuple[str, float]]:
    """Return the (kind, raw TB) of flash in a unit whose endurance is derived from it, if it is."""
    asked, raw_tb = inputs.problem.storage, dict[str, float]()
    if asked.endurance != "derived" or item.provides.endurance is not None:
        return []
    for part, quantity in parts(item, inputs):
        for media in part.media:
            raw_tb[media.type] = raw_tb.get(media.type, 0.0) + quantity * media.raw_tb
    return [(kind, raw) for kind, raw in raw_tb.items() if kind in type(asked.dwpd).model_fields]


def host_copy_gb_per_s(item: Item, job: Job) -> float | None:
    """Return what a GPU copies to its host, GB/s, where the job's stall is derived from it."""
    if job.checkpoint.stall_s != "derived" or item.local.host_copy is None:
        return None
    return item.local.host_copy.value


def usable_gpus(item: Item, job: Job, most: int | None = None) -> int:
    """Return the GPUs of one system that the job can use; 0 where a tensor group does not fit.

    Args:
        most: how many of them it may use, where that is decided; else what the job says.
    """
    assert item.provides.gpus is not None
    gpus, most = item.provides.gpus.value, most or job.gpus.most_of(item.id)
    if not job.whole_replicas:
        return min(gpus, most or gpus)
    assert job.parallelism is not None
    tensor, replica = job.parallelism.tensor, job.parallelism.replica_gpus
    return sizing.usable_gpus(gpus, tensor, replica, most)


def uses_of(item: Item, job: Job) -> tuple[int, ...]:
    """Return how many GPUs of one system the job may use, falling: what the job says, or all.

    Where spare trays stay in their racks every number that it can use is one to choose from: what
    it leaves over are its spares.
    """
    assert item.provides.gpus is not None
    whole = usable_gpus(item, job)
    if job.gpus.most_of(item.id) is not None or not spare_unit(item, whole, job).in_rack:
        return (whole,)
    gpus, parallel = item.provides.gpus.value, job.parallelism
    every = set(range(1, gpus + 1))
    if job.whole_replicas and parallel is not None:
        tensor, replica = parallel.tensor, parallel.replica_gpus
        every = {sizing.usable_gpus(gpus, tensor, replica, most) for most in every}
    return tuple(sorted(every - {0}, reverse=True))


def spare_unit(item: Item, usable_gpus: int, job: Job) -> SpareUnit:
    """Return what of a GPU system is mended by itself where the job uses so many GPUs of it."""
    assert item.provides.gpus is not None
    tray = None
    if job.repair is not None and job.repair.unit == "tray" and item.spare_unit is not None:
        tray = item.spare_unit.tray.value
    tensor = job.parallelism.tensor if job.whole_replicas and job.parallelism else 1
    return SpareUnit.for_system(item.provides.gpus.value, usable_gpus, tray, tensor)


def client_gb_per_s(figure: Figure[Bandwidth] | None, gpus: int) -> float:
    """Return what one GPU system moves as a client, GB/s, before the family's factor."""
    return figure.value if figure else CLIENT_GB_PER_S_PER_GPU * gpus


def no_spread(item: Item, job: Job) -> str | None:
    """Return why a replica, spread in one way, finds no place on a type."""
    return (
        _no_memory(item, job)
        or _no_domain(item, job)
        or _no_pool(item, job)
        or _no_room_for_state(item, job)
    )


def _no_room_for_state(item: Item, job: Job) -> str | None:
    """Return why what every replica holds leaves no room for what they share."""
    if least_replicas(item, job) is not None:
        return None
    return (
        f"what {of_job('parallelism.memory', job.name)} holds in each GPU leaves "
        "none of its memory for what replicas share"
    )


def least_replicas(item: Item, job: Job) -> int | None:
    """Return the fewest replicas whose GPUs' memory holds their state; None where none do."""
    parallel = job.parallelism
    if parallel is None or parallel.memory is None:
        return 1 if parallel is None else parallel.min_replicas
    if item.gpu.memory is None or job.parameters is None:
        return parallel.min_replicas
    asked, per_gpu = parallel.memory, parallel.parameters_per_gpu(job.parameters)
    held = MemoryNeed(asked.held, asked.shared, asked.activations_gb, asked.usable)
    least = held.least_replicas(per_gpu, item.gpu.memory.value)
    return None if least is None else max(parallel.min_replicas, least)


def _no_memory(item: Item, job: Job) -> str | None:
    """Return why a GPU cannot hold its part of a replica, where its memory is known."""
    need_gb, memory = weights_gb_per_gpu(job), item.gpu.memory
    if need_gb is None or memory is None or need_gb <= memory.value * ALMOST:
        return None
    return (
        f"its GPUs have {memory.value:g} GB each, less than the {need_gb:.4g} GB of weights that "
        f"{of_job('parallelism', job.name)} puts there"
    )


def _no_domain(item: Item, job: Job) -> str | None:
    """Return why a tensor group finds no place within one system, or None where it does."""
    if item.provides.gpus is None or usable_gpus(item, job):
        return None
    assert job.parallelism is not None
    gpus = min(item.provides.gpus.value, job.gpus.most_of(item.id) or item.provides.gpus.value)
    return (
        f"a tensor group of {job.parallelism.tensor} GPUs does not fit into the {gpus} that the "
        f"job uses of one system ({of_job('parallelism', job.name)})"
    )


def _no_pool(item: Item, job: Job) -> str | None:
    """Return why so many spares as asked for, or fewer replicas, mean nothing of a GPU system."""
    repair = job.repair
    if repair is None or item.provides.gpus is None:
        return None
    if repair.spares == "open" and repair.when_short == "wait":
        return None
    unit = spare_unit(item, usable_gpus(item, job), job)
    if not unit.in_rack:
        return None
    if repair.when_short == "shrink":
        return (
            f"its spare trays stay in their racks ({of_job('parallelism', job.name)}), "
            f"where running on with fewer replicas is not planned: say repair.unit: system "
            f"in the job '{job.name}'"
        )
    return (
        f"its spare trays are the {unit.in_each_rack} that {of_job('parallelism', job.name)} "
        f"leaves over in each system, not {repair.spares}: say repair.spares: open in the job "
        f"'{job.name}'"
    )


class Fit(NamedTuple):
    """A switch and the way its front panel is used for a port."""

    switch: Item
    group: PortGroup


def group_for(switch: Switch, speed_gbit_per_s: float, form: str | None = None) -> PortGroup | None:
    """Return the port group of the least speed that takes a port, or None.

    Of a switch with links for the form of a port only the groups that have one are tried.
    """
    made_for = [g for g in switch.ports if g.made_for(form)]
    taking = [g for g in made_for or switch.ports if g.takes(speed_gbit_per_s)]
    return min(taking, key=lambda group: group.speed_gbit_per_s, default=None)


def base_group(switch: Switch) -> PortGroup:
    """Return the port group of the highest speed: its ports are what others are parts of."""
    return max(switch.ports, key=lambda group: group.speed_gbit_per_s)


def parts_per_panel(switch: Switch) -> int:
    """Return how many parts a whole front panel has, so that every port is a whole number."""
    return math.lcm(*(group.count for group in switch.ports))


def compute_port(item: Item, planes: int) -> Port | None:
    """Return the compute ports of a GPU system as a fabric of so many planes wires them.

    Ports that can be split into as many are several slower ones each, one to a plane.
    """
    port = item.ports.compute
    if port is None or port.split is None or port.split.into != planes:
        return port
    return port.model_copy(
        update={
            "count": port.count * planes,
            "speed_gbit_per_s": port.speed_gbit_per_s / planes,
            "transceiver": port.split.transceiver,
        }
    )


def fits(switch: Item, port: Port) -> bool:
    """Say whether a switch has ports for a port: its protocol, and a speed that is enough."""
    return _fit(switch, port) is not None


def _fit(switch: Item, port: Port) -> Fit | None:
    assert switch.switch is not None
    if not speaks(switch.switch, port):
        return None
    group = group_for(switch.switch, port.speed_gbit_per_s)
    return None if group is None else Fit(switch, group)


def speaks(switch: Switch, port: Port) -> bool:
    """Say whether a switch has the protocol of a port; one that names none takes any."""
    return port.protocol in (None, switch.protocol)


class FabricKey(NamedTuple):
    """GPU types with the same key can share a compute fabric."""

    switch: str
    speed_gbit_per_s: float
    ports: int
    rails: int
    rail_group: int
    planes: int
    oversubscription: float


def fabric_keys(item: Item, inputs: Inputs) -> tuple[FabricKey, ...]:
    """Return the compute fabrics that a GPU system may join, sorted: none without any."""
    fabric = inputs.problem.network.compute
    if item.category != "gpu_system" or fabric is None:
        return ()
    known, found = inputs.by_id, set()
    for planes in fabric.planes_allowed:
        port = compute_port(item, planes)
        if port is None or port.count % (port.rails * planes):
            continue
        fitting = (_fit(known[name], port) for name in fabric.switches)
        of_port = port.count, port.rails, port.rail_group or 0, planes
        found |= {
            FabricKey(fit.switch.id, fit.group.speed_gbit_per_s, *of_port, ratio)
            for fit in fitting
            if fit is not None
            for ratio in fabric.oversubscriptions
        }
    return tuple(sorted(found))


def no_compute_fabric(item: Item, inputs: Inputs) -> str | None:
    """Return why a GPU system cannot join the compute fabric, or None where it can."""
    fabric = inputs.problem.network.compute
    if fabric is None or item.category != "gpu_system" or fabric_keys(item, inputs):
        return None
    port = compute_port(item, fabric.planes_allowed[0])
    if port is None:
        return "not known: compute ports, for network.compute"
    if not any(fits(inputs.by_id[name], port) for name in fabric.switches):
        kind = f"{port.protocol} " if port.protocol else ""
        return f"no switch of network.compute has {kind}ports of {port.speed_gbit_per_s:g} Gb/s"
    planes = " or ".join(map(str, fabric.planes_allowed))
    return (
        f"its {port.count} compute ports do not spread evenly over {port.rails} rails "
        f"of {planes} planes"
    )


def no_port_group(item: Item, inputs: Inputs) -> str | None:
    """Return which port of an item fits no port of its switch, by protocol or speed, or None."""
    known = inputs.by_id
    network = inputs.problem.network
    in_band = network.in_band or network.converged
    for name, fabric in (("storage", network.storage), ("in_band", in_band)):
        port: Port | None = getattr(item.ports, name)
        if fabric is None or port is None:
            continue
        switch = known[fabric.switch]
        assert switch.switch is not None
        if not speaks(switch.switch, port):
            kind = name.replace("_", "-")
            return f"{switch.id}, which its {kind} ports go to, has no {port.protocol} ports"
        if group_for(switch.switch, port.speed_gbit_per_s, port.form) is None:
            made = any(group.made_for(port.form) for group in switch.switch.ports)
            form = f" made for {port.form} ends" if made else ""
            return f"no port of {switch.id}{form} takes one of {port.speed_gbit_per_s:g} Gb/s"
    return None
