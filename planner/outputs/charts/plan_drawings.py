"""Drawings of a plan: the hall from above with its racks, and the layers of its fabrics.

Both are charts like those of studies, so that they are drawn, pointed at and walked by the arrow
keys as these are; a table under each says the same in words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planner.figures import capital
from planner.outputs.charts.model import Axis, Boxes, Chart, Layer, Line, Look, Panel, Tone
from planner.outputs.charts.words import DataColumn, DataTable, short, words
from planner.outputs.words import NETWORKS, counted, listed, number, product, so_many
from planner.schema.plan import FabricReport, Plan, RackClassName, RackGroup
from planner.schema.site import Site

MOST_BOXES = 1500
"""Racks that are drawn one by one; in a larger hall a box stands for some neighbours alike."""

_ROLES: dict[RackClassName, str] = {
    "gpu": "GPU systems", "storage": "storage", "network": "network, cooling and management",
}  # fmt: skip
_LOOKS: dict[RackClassName, tuple[Tone, Look]] = {
    "gpu": ("main", "full"), "storage": ("second", "hatched"), "network": ("third", "hollow"),
}  # fmt: skip
_DEPTH_M, _BESIDE, _GAP = 1.2, 0.92, 0.45
_SCHEMATIC_WIDTH_M, _SCHEMATIC_PITCH_M = 0.8, 1.8
_LEAST_ROW, _MOST_ROW, _SQUARE = 8, 200, 4.0
_MOST_FREE = 600


class _Run(NamedTuple):
    """Neighbours of one content: the first one's number, how many, and where it stands."""

    group: RackGroup
    rack: int
    racks: int
    position: int
    name: str


class _Rows(NamedTuple):
    """How positions stand: so many in a row, metres along it and to the next."""

    each: int
    width_m: float
    pitch_m: float

    def corner(self, position: int) -> tuple[float, float]:
        """Return the lower left corner of a position; the first row is the upper one."""
        row, place = divmod(position - 1, self.each)
        return place * self.width_m, -row * self.pitch_m

    @property
    def depth_m(self) -> float:
        """Return how deep racks are drawn."""
        return min(_DEPTH_M, self.pitch_m * (1 - _GAP))


def hall(plan: Plan, site: Site | None = None) -> tuple[Chart, DataTable] | None:
    """Return the hall from above and its racks as a table, None where nothing is placed.

    Args:
        site: how racks stand and how many the hall takes, where that is at hand.
    """
    if not plan.racks:
        return None
    floor = None if site is None else site.floor
    places = max(_positions(plan), default=0)
    limit = (site.rack_count if site is not None else None) or plan.site.racks_limit
    if floor is not None:
        rows = _Rows(floor.racks_per_row, floor.rack_width_m, floor.row_pitch_m)
    else:
        whole = max(places, limit if limit is not None and limit - places <= _MOST_FREE else 0)
        each = min(_MOST_ROW, max(_LEAST_ROW, math.ceil(math.sqrt(_SQUARE * whole))))
        rows = _Rows(each, _SCHEMATIC_WIDTH_M, _SCHEMATIC_PITCH_M)
    layers = tuple(_hall_layers(plan, rows, limit))
    text = " ".join(_hall_words(plan, rows, limit, schematic=floor is None))
    panel = Panel(Axis(""), Axis(""), layers, axes=False)
    return Chart("hall", "The hall from above", text, (panel,)), _rack_table(plan)


def _positions(plan: Plan) -> Iterator[int]:
    for group in plan.racks:
        for rack in range(group.first, group.first + group.count):
            yield _place(group, rack)[1]


def _place(group: RackGroup, rack: int) -> tuple[str, int]:
    """Return what a rack's position is called, where positions have names, and its number."""
    return group.position(rack) or ("", rack)


def _hall_words(plan: Plan, rows: _Rows, limit: int | None, *, schematic: bool) -> Iterator[str]:
    count = sum(group.count for group in plan.racks)
    of = "" if limit is None else f" of {counted(limit, 'position')}"
    yield f"{counted(count, 'rack')}{of}, numbered as in the list of racks."
    if schematic:
        yield (
            f"Schematic: the problem does not say how racks stand, so they are drawn in rows of "
            f"{rows.each}."
        )
    else:
        yield (
            f"Rows of {rows.each} as the site has them, {rows.pitch_m:g} m apart, "
            f"{rows.width_m:g} m to a rack; how deep racks are is not known."
        )
    if limit is not None and limit - count > _MOST_FREE:
        yield "Free positions are not drawn."


def _hall_layers(plan: Plan, rows: _Rows, limit: int | None) -> Iterator[Layer]:
    together = math.ceil(sum(group.count for group in plan.racks) / MOST_BOXES)
    boxes: dict[tuple[RackClassName, int], list[_Run]] = {}
    for run in _runs(plan, rows.each, together):
        boxes.setdefault((run.group.rack_class, run.racks), []).append(run)
    names = {line.sku: product(line) for line in plan.lines}
    order = list(_ROLES)
    for role, count in sorted(boxes, key=lambda key: (order.index(key[0]), key[1])):
        runs = boxes[role, count]
        yield _boxes(rows, [run.position for run in runs], count, Boxes(
            capital(_ROLES[role]), (), (), 0.0, 0.0,
            tuple(str(run.rack) for run in runs),
            tuple(_rack_hover(run, names) for run in runs),
            *_LOOKS[role],
        ))  # fmt: skip
    taken = set(_positions(plan))
    free = [place for place in range(1, (limit or 0) + 1) if place not in taken]
    if free and len(free) <= _MOST_FREE:
        hovers = tuple(f"position {place}: free" for place in free)
        yield _boxes(rows, free, 1, Boxes(
            "Free position", (), (), 0.0, 0.0, ("",) * len(free), hovers, "quiet", "hollow",
        ))  # fmt: skip


def _boxes(rows: _Rows, positions: Sequence[int], count: int, about: Boxes) -> Boxes:
    """Return boxes at positions, each as wide as so many racks."""
    corners = [rows.corner(position) for position in positions]
    return Boxes(
        about.name,
        tuple(x for x, _ in corners),
        tuple(y for _, y in corners),
        (count - 1 + _BESIDE) * rows.width_m,
        rows.depth_m,
        about.texts,
        about.hovers,
        about.tone,
        about.look,
    )


def _runs(plan: Plan, each: int, together: int) -> Iterator[_Run]:
    """Yield the racks, at most so many neighbours of a row and of one content together."""
    for group in plan.racks:
        run: _Run | None = None
        for rack in range(group.first, group.first + group.count):
            name, position = _place(group, rack)
            if run is not None and (
                run.racks == together
                or position != run.position + run.racks
                or (position - 1) // each != (run.position - 1) // each
            ):
                yield run
                run = None
            run = (
                _Run(group, rack, 1, position, name)
                if run is None
                else run._replace(racks=run.racks + 1)
            )
        if run is not None:
            yield run


def _rack_hover(run: _Run, names: dict[str, str]) -> str:
    group, last = run.group, run.rack + run.racks - 1
    called = f"Rack {run.rack}" if run.racks == 1 else f"Racks {run.rack} to {last}"
    at = f", position {run.name}" if run.name else ""
    each = "" if run.racks == 1 else " each"
    of = "" if group.power_limit_kw is None else f" of {number(group.power_limit_kw, 1)}"
    lines = [
        f"{called}{at}: {_ROLES[group.rack_class]}",
        f"{number(group.it_power_kw, 1)}{of} kW{each}",
    ]
    if group.weight_kg is not None:
        lines.append(f"{number(group.weight_kg)} kg{each}")
    held = Counter(device.sku for device in group.devices)
    lines += [f"{count:,} × {short(names.get(sku, sku), 44)}" for sku, count in held.items()]
    return "\n".join(lines)


def _rack_table(plan: Plan) -> DataTable:
    groups = plan.racks
    names = {line.sku: product(line) for line in plan.lines}
    held = [Counter(device.sku for device in group.devices) for group in groups]
    columns = [
        words("racks", [_span(group.first, group.count) for group in groups]),
        words("role", [_ROLES[group.rack_class] for group in groups]),
        DataColumn("kW each", tuple(number(group.it_power_kw, 1) for group in groups)),
        DataColumn("kW allowed", tuple(_or_dash(group.power_limit_kw, 1) for group in groups)),
        DataColumn("kg each", tuple(_or_dash(group.weight_kg) for group in groups)),
        words(
            "what stands in each",
            [", ".join(so_many(n, names.get(s, s)) for s, n in each.items()) for each in held],
        ),
    ]
    if any(group.places for group in groups):
        spans = [
            ", ".join(f"{one.group}-{_span(one.first, one.count)}" for one in group.places)
            for group in groups
        ]
        columns.insert(1, words("positions", spans))
    return DataTable("Racks", tuple(columns), len(groups))


def _span(first: int, count: int) -> str:
    return f"{first}" if count == 1 else f"{first} to {first + count - 1}"


def _or_dash(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else number(value, digits)


_ACROSS, _HIGH, _BETWEEN = 10.0, 0.85, 0.95
_MESH = 8
_CONNECTS = 44


class _Tier(NamedTuple):
    """A layer of a fabric: what it is called, what is known of it, and the links below it."""

    text: str
    hover: str
    links: str = ""
    links_hover: str = ""


def fabrics(plan: Plan) -> tuple[Chart, DataTable] | None:
    """Return every fabric drawn in layers and all of them as a table, None where there is none."""
    if not plan.fabrics:
        return None
    names = {line.sku: product(line) for line in plan.lines}
    models = {line.sku: line.model for line in plan.lines}
    panels = tuple(_fabric_panel(fabric, names, models) for fabric in plan.fabrics)
    text = (
        "Each layer is all its switches, and each sheaf of lines all links between two layers, "
        "over all planes."
    )
    return Chart("fabrics", "The fabrics", text, panels, legend=False), _fabric_table(plan, names)


def _fabric_panel(fabric: FabricReport, names: dict[str, str], models: dict[str, str]) -> Panel:
    tiers = _tiers(fabric, names, models)
    step = _HIGH + _BETWEEN
    devices, switches = tiers[0], tiers[1:]
    middles = [place * step - _BETWEEN / 2 for place in range(1, len(tiers))]
    layers: tuple[Layer, ...] = (
        *(
            Line("", *_links(place * step + _HIGH, (place + 1) * step), tone="quiet", thin=True)
            for place in range(len(tiers) - 1)
        ),
        Boxes("devices", (0.0,), (0.0,), _ACROSS, _HIGH, (devices.text,), (devices.hover,),
              "main", "hollow"),
        Boxes("switches", (0.0,) * len(switches),
              tuple(place * step for place in range(1, len(tiers))), _ACROSS, _HIGH,
              tuple(tier.text for tier in switches), tuple(tier.hover for tier in switches),
              "third"),
        Boxes("links", (_ACROSS * 0.15,) * len(switches),
              tuple(middle - _BETWEEN / 4 for middle in middles), _ACROSS * 0.7, _BETWEEN / 2,
              tuple(tier.links for tier in switches), tuple(tier.links_hover for tier in switches),
              "quiet", "letters"),
    )  # fmt: skip
    return Panel(Axis(""), Axis(""), layers, title=_fabric_title(fabric, models), axes=False)


def _fabric_title(fabric: FabricReport, models: dict[str, str]) -> str:
    planes = "" if fabric.planes == 1 else f", {fabric.planes} planes"
    name = capital(NETWORKS[fabric.network])
    return f"{name}: {short(models.get(fabric.switch_sku, fabric.switch_sku), 30)}{planes}"


def _tiers(fabric: FabricReport, names: dict[str, str], models: dict[str, str]) -> list[_Tier]:
    """Return the layers of a fabric from its devices up."""
    switch = names.get(fabric.switch_sku, fabric.switch_sku)
    each = f"{switch}, {fabric.radix} ports each"
    connects = [models.get(sku, sku) for sku in fabric.serves]
    tiers = [
        _Tier(short(", ".join(connects), _CONNECTS), f"Connects {listed(connects)}"),
        _Tier(
            _switches(fabric.leaf_switches, "leaf" if fabric.tiers > 1 else ""),
            f"{each}\n{fabric.endpoints / fabric.capacity:.0%} of the ports for devices in use",
            counted(fabric.system_links, "link"),
            f"{counted(fabric.system_links, 'link')} to devices",
        ),
    ]
    ratio = f"{fabric.oversubscription:g}:1"
    if fabric.spine_switches:
        tiers.append(
            _Tier(
                _switches(fabric.spine_switches, "spine"),
                each,
                f"{counted(fabric.leaf_spine_links, 'link')}, {ratio}",
                f"{counted(fabric.leaf_spine_links, 'link')} between leaf and spine, "
                f"{fabric.uplinks_per_leaf} from each leaf; oversubscribed {ratio}",
            )
        )
    if fabric.core_switches:
        links = counted(fabric.spine_core_links, "link")
        tiers.append(
            _Tier(_switches(fabric.core_switches, "core"), each, links,
                  f"{links} between spine and core")
        )  # fmt: skip
    return tiers


def _switches(count: int, tier: str) -> str:
    return counted(count, f"{tier} switch".strip(), f"{tier} switches".strip())


def _links(low: float, high: float) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Return lines from each of some places of a layer to each of the next."""
    at = [_ACROSS * (place + 0.5) / _MESH for place in range(_MESH)]
    x = [value for one in at for other in at for value in (one, other, None)]
    y = [value for _ in range(_MESH * _MESH) for value in (low, high, None)]
    return tuple(x), tuple(y)


def _fabric_table(plan: Plan, names: dict[str, str]) -> DataTable:
    found = plan.fabrics
    columns = (
        words("fabric", [capital(NETWORKS[f.network]) for f in found]),
        words("switch", [names.get(f.switch_sku, f.switch_sku) for f in found]),
        DataColumn("planes", tuple(f"{f.planes:,}" for f in found)),
        DataColumn("leaf", tuple(f"{f.leaf_switches:,}" for f in found)),
        DataColumn("spine", tuple(f"{f.spine_switches:,}" for f in found)),
        DataColumn("core", tuple(f"{f.core_switches:,}" for f in found)),
        DataColumn("links to devices", tuple(f"{f.system_links:,}" for f in found)),
        DataColumn("leaf to spine", tuple(f"{f.leaf_spine_links:,}" for f in found)),
        DataColumn("spine to core", tuple(f"{f.spine_core_links:,}" for f in found)),
        DataColumn("oversubscribed", tuple(_ratio(f) for f in found)),
        words("connects", [", ".join(names.get(sku, sku) for sku in f.serves) for f in found]),
    )
    return DataTable("Switches and links", columns, len(found))


def _ratio(fabric: FabricReport) -> str:
    return f"{fabric.oversubscription:g}:1" if fabric.tiers > 1 else "–"
