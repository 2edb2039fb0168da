"""Published clusters: NVIDIA's SuperPOD of 127 DGX H100 as a whole bill, fabrics row by row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from planner.case import Case, resolve
from planner.inputs import Inputs
from planner.loader import load
from planner.plan.hall import cable_schedule
from planner.schema.plan import CableSchedule, Line, Plan
from planner.sizing.fabric import smallest_size
from tests.world.random_cases import inputs_of, random_case
from tests.world.solved import solve

SUPERPOD = """\
name: DGX SuperPOD of 127 DGX H100
site:
  it_power: 3 MW
  pue: 1.3
  racks: 60
  rack:
    height: 48 RU
    power: 45 kW
    item: rack_48u
    pdu: {item: pdu_raritan_px3_5878, redundancy: N+1}
items: {nvidia_dgx_h100: {fixed: 127}, ddn_ai400x2_turbo: {fixed: 8}}
consider: {gpu_systems: [nvidia_dgx_h100], storage_families: [ddn_exascaler]}
storage: {delivered_fraction: {read: 0.8, write: 0.8}}
network:
  compute: {switches: [nvidia_qm9700], manager: {slots: 1, ports: 4}}
  out_of_band: {switch: nvidia_sn2201, reserve_ports: 0}
extras: {nvidia_ufm_appliance: {count: 2}}
spares: {cable: 5 %}
jobs: [{name: train, parameters: 405 B}]
objective: {minimize: cost}
"""


FLOOR = "floor: {racks_per_row: 10, rack_width: 60 cm, row_pitch: 3 m, riser: 1.5 m, slack: 10 %}"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    problem = tmp_path_factory.mktemp("superpod") / "problem.yaml"
    problem.write_text(SUPERPOD.replace("  racks: 60\n", f"  racks: 60\n  {FLOOR}\n"), "utf-8")
    return load(problem)


@pytest.fixture(scope="module")
def superpod(inputs: Inputs) -> Plan:
    plan = solve(inputs)
    assert plan.status == "optimal"
    return plan


@pytest.fixture(scope="module")
def schedule(inputs: Inputs, superpod: Plan) -> CableSchedule:
    return cable_schedule(inputs, superpod)


def line_of(plan: Plan, sku: str) -> Line:
    return next(line for line in plan.lines if line.sku == sku)


@pytest.mark.parametrize(
    ("sku", "in_place", "purchased"),
    [
        ("nvidia_dgx_h100", 127, 127),
        ("nvidia_qm9700", 32 + 16, 48),
        ("nvidia_mfp7e10", 1020 + 1024, 2044 + 103),  # system and switch cables; 102.2 spares
        ("nvidia_mma4z00_ns", 1536, 1536),  # twin ports: 512 + 512 at leaves, 512 at spines
        ("nvidia_mma4z00_ns_flt", 508, 508),
        ("nvidia_ufm_appliance", 2, 2),
    ],
)
def test_the_published_superpod_is_the_bill(
    superpod: Plan, sku: str, in_place: int, purchased: int
) -> None:
    line = line_of(superpod, sku)
    assert (line.quantity, line.purchased) == (in_place, purchased)


def test_the_fabric_of_the_superpod(superpod: Plan) -> None:
    fabric = next(f for f in superpod.fabrics if f.network == "compute")
    switches = (fabric.leaf_switches, fabric.spine_switches, fabric.core_switches)
    links = (fabric.system_links, fabric.leaf_spine_links, fabric.spine_core_links)
    assert (fabric.tiers, fabric.units, switches) == (2, 4, (32, 16, 0))
    assert links == (1020, 1024, 0)
    # Four units of 32 hold 127 systems beside the manager, on 8 ports each.
    assert (fabric.endpoints, fabric.capacity) == (127 * 8, 127 * 8)


def test_the_racks_of_the_superpod(superpod: Plan) -> None:
    groups = [group for group in superpod.racks if group.rack_class == "gpu"]
    assert sum(group.count for group in groups) == 32
    assert sorted({len(group.devices) for group in groups}) == [3, 4]
    assert sum(group.count * group.pdus for group in groups) == 96  # 40.8 kW: two of 34.5, one more
    everywhere = sum(group.count * group.pdus for group in superpod.racks)
    assert line_of(superpod, "pdu_raritan_px3_5878").quantity == everywhere
    assert superpod.totals is not None
    assert line_of(superpod, "rack_48u").quantity == superpod.totals.racks


def test_management_ports_of_the_superpod(superpod: Plan) -> None:
    boxes = [group for group in superpod.racks if group.rack_class == "storage"]
    fabric = next(f for f in superpod.fabrics if f.network == "out_of_band")
    # Systems, two per appliance, switches, PDUs of the racks of both, two per fabric manager.
    pdus = 96 + sum(group.count * group.pdus for group in boxes)
    assert fabric.endpoints == 127 + 2 * 8 + 48 + pdus + 2 * 2
    assert fabric.leaf_switches == -(-fabric.endpoints // 48)
    # Its own switches and the PDUs of network racks are on reserved ports, each with its cable.
    beside = sum(
        group.count * group.pdus for group in superpod.racks if group.rack_class == "network"
    )
    assert line_of(superpod, "cable_cat6").quantity == (
        fabric.endpoints + fabric.leaf_switches + beside
    )


# The cable schedule: as many cables as the bill has, every port once, lengths by hand.


def pulled(schedule: CableSchedule) -> Counter[str]:
    """Return the cables by item: rows that share a number are one."""
    return Counter(sku for sku, _ in {(c.sku, c.number) for c in schedule.cables if c.sku})


def billed(inputs: Inputs, plan: Plan) -> Counter[str]:
    kinds = {item.id: item.category for item in inputs.items}
    named = inputs.problem.extras
    lines = [line for line in plan.lines if kinds[line.sku] == "cable" and line.sku not in named]
    return Counter({line.sku: line.quantity for line in lines if line.quantity})


def twice(schedule: CableSchedule) -> list[tuple[str, str]]:
    ends = [(e.device, e.port) for c in schedule.cables for e in (c.lower, c.upper)]
    return [end for end, count in Counter(ends).items() if count > 1]


def test_the_superpod_has_the_cables_of_its_bill(
    inputs: Inputs, superpod: Plan, schedule: CableSchedule
) -> None:
    assert pulled(schedule) == billed(inputs, superpod)
    assert pulled(schedule)["nvidia_mfp7e10"] == 2044
    assert twice(schedule) == []
    assert schedule.notes == ()


def test_lengths_follow_from_rows_positions_and_heights(schedule: CableSchedule) -> None:
    cable = next(c for c in schedule.cables if c.lower.device == "nvidia_dgx_h100-001")
    assert (cable.lower.rack, cable.lower.position_ru) == (1, 1)
    rack, unit = cable.upper.rack or 0, cable.upper.position_ru or 0
    assert rack > 32, "behind the racks of systems"
    row, place = divmod(rack - 1, 10)
    way = row * 3 + place * 0.6 + 2 * 1.5 + ((48 - 1) + (48 - unit)) * 0.04445
    assert cable.length_m == -(-way * 1.1 // 1)
    assert cable.medium == "as billed"
    beside = [c for c in schedule.cables if c.lower.rack == c.upper.rack and c.lower.rack]
    assert beside
    assert all((c.length_m or 0) <= 4 for c in beside)


@pytest.mark.exhaustive(keep=8)
@pytest.mark.parametrize("seed", range(60))
def test_random_plans_have_the_cables_of_their_bills(seed: int) -> None:
    inputs = inputs_of(random_case(seed))
    plan = solve(inputs, explain=False)
    if not plan.lines:
        return
    found = cable_schedule(inputs, plan)
    assert pulled(found) == billed(inputs, plan)
    free = [end for end in twice(found) if end[0] not in ("no free out-of-band port",)]
    assert free == []


# Published fabrics by shipped products: every row that is claimed, and which are not.


PROBLEM = """\
name: a fabric
site: {{pue: 1.2}}
catalogs: [gpu_systems, gpu_systems_oem, storage_ddn, network]
prices: estimates_2026
consider: {{gpu_systems: [{item}], storage_families: [ddn_exascaler]}}
items: {{{item}: {{max: 2100, installed: 1}}}}
network:
  compute: {{switches: [{switch}], {options}}}
storage: {{delivered_fraction: {{read: 0.8, write: 0.8}}}}
jobs: [{{name: train, parameters: 8 B, checkpoint: {{keep_last: 1}}}}]
objective: {{minimize: cost}}
"""


@dataclass(frozen=True)
class Table:
    """A published table: system, switch and options, and rows of systems, leaf, spine, core."""

    source: str
    item: str
    switch: str
    options: str
    rows: tuple[tuple[int, int, int, int], ...]


MANAGER = "manager: {slots: 1, ports: 4}"
TABLES = (
    Table("DGX SuperPOD H100, RA-11333-001 V11, Table 4", "nvidia_dgx_h100", "nvidia_qm9700",
          MANAGER, ((31, 8, 4, 0), (63, 16, 8, 0), (95, 24, 16, 0), (127, 32, 16, 0))),
    Table("DGX SuperPOD B200, network fabrics, Table 4", "nvidia_dgx_b200", "nvidia_qm9700",
          MANAGER, ((31, 8, 4, 0), (63, 16, 8, 0), (95, 24, 16, 0), (127, 32, 16, 0))),
    Table("DGX SuperPOD B200, architecture, larger counts", "nvidia_dgx_b200", "nvidia_qm9700",
          "planes: 1",
          ((64, 16, 8, 0), (128, 32, 16, 0), (256, 64, 32, 0), (512, 128, 128, 64),
           (1024, 256, 256, 128), (2048, 512, 512, 256))),
    Table("DGX SuperPOD B300 XDR, Table 3", "nvidia_dgx_b300", "nvidia_q3400",
          "planes: 1",
          ((72, 8, 4, 0), (144, 16, 8, 0), (288, 32, 18, 0), (576, 64, 36, 0),
           (1296, 144, 72, 0))),
    Table("DGX SuperPOD B300 Spectrum-4, Table 3", "nvidia_dgx_b300", "nvidia_sn5610",
          "planes: 2",
          ((64, 16, 8, 0), (128, 32, 16, 0), (256, 64, 32, 0), (512, 128, 64, 0),
           (1024, 256, 128, 0))),
    Table("DGX SuperPOD GB200, RA-11338-001 V01, Table 3", "nvidia_gb200_nvl72", "nvidia_qm9700",
          MANAGER, ((16, 64, 48, 18), (32, 128, 96, 36), (64, 256, 192, 72), (128, 512, 384, 144))),
    Table("DGX SuperPOD GB200, a unit alone, in two tiers, as restated by a comparison of the four",
          "nvidia_gb200_nvl72", "nvidia_qm9700", "planes: 1", ((8, 32, 9, 0),)),
    Table("DGX SuperPOD GB300 RA as restated: 18 spines for 32 leaves; 128 and 72 for 16 units",
          "nvidia_gb300_nvl72", "nvidia_q3400", "planes: 1",
          ((32, 32, 18, 0), (128, 128, 72, 0))),
)  # fmt: skip


@cache
def case_of(item: str, switch: str, options: str) -> Case:
    text = PROBLEM.format(item=item, switch=switch, options=options)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "problem.yaml"
        path.write_text(text, "utf-8")
        return resolve(load(path))


def built(table: Table, systems: int) -> tuple[int, int, int]:
    """Return leaves, spines and cores over all planes."""
    (fabric,) = case_of(table.item, table.switch, table.options).companions.fabrics
    size = smallest_size(fabric.sizes, systems)
    assert size is not None
    tree = size.tree
    return fabric.planes * tree.leaves, fabric.planes * tree.spines, fabric.planes * tree.cores


@pytest.mark.parametrize(
    ("table", "row"),
    [
        pytest.param(table, row, id=f"{table.item}-{table.switch}-{row[0]}")
        for table in TABLES
        for row in table.rows
    ],
)
def test_each_row_of_a_published_table_is_built(
    table: Table, row: tuple[int, int, int, int]
) -> None:
    systems, *switches = row
    assert built(table, systems) == tuple(switches), table.source
