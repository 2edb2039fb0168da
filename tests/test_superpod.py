"""A published cluster as a whole bill: NVIDIA's DGX SuperPOD of 127 DGX H100."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import api
from planner.schema.plan import Line, Plan
from planner.shipped import problem_files
from tests.world.solved import DENSE_HALL

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


@pytest.fixture(scope="module")
def superpod(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    problem = tmp_path_factory.mktemp("superpod") / "problem.yaml"
    problem.write_text(SUPERPOD, "utf-8")
    plan = api.solve(problem)
    assert plan.status == "optimal"
    return plan


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


@pytest.mark.parametrize(
    ("ratio", "switches", "better"),
    [
        # 572 ports. 64/2.25 are 29 uplinks, a prime: 29 spines over 9 leaves. With 30 they are 5.
        ("1.25", 9 + 29, "With oversubscription 1.14, 30 uplinks, it would have 14 and block less"),
        # 22 uplinks of 7 leaves are more than 2 spines hold, and the next divisor is 11.
        ("2", 7 + 11, "With oversubscription 1.67, 24 uplinks, it would have 11 and block less"),
        ("1.67", 8 + 3, None),
        ("1", 9 + 8, None),
        ("3", 6 + 2, None),
    ],
)
def test_uplinks_that_hardly_divide_are_told_with_what_would_take_fewer_switches(
    tmp_path: Path, ratio: str, switches: int, better: str | None
) -> None:
    storage = f"storage: {{switch: nvidia_qm9700, oversubscription: {ratio}}}"
    ports = "manager: {slots: 1, ports: 4}}"
    path = tmp_path / "problem.yaml"
    path.write_text(SUPERPOD.replace(ports, f"{ports}\n  {storage}"), "utf-8")
    plan = api.solve(path)
    fabric = next(f for f in plan.fabrics if f.network == "storage")
    assert fabric.leaf_switches + fabric.spine_switches == switches
    told = [text for text in plan.warnings if "spread evenly over" in text]
    assert [better in text for text in told if better] == ([True] if better else [])
    assert bool(told) == bool(better)


@pytest.mark.parametrize(("power", "ends"), [("30 MW", True), ("20 MW", False)])
def test_a_plan_that_the_largest_fabric_ends_says_so(power: str, ends: bool) -> None:
    """Of NVL72 with switches of 64 ports the published design ends at 16 units of 8 racks."""
    settings = (
        f"site.facility_power={power}",
        "site.racks=5000",
        "budget.capex=10 BUSD",
        "consider.gpu_systems=[nvidia_gb200_nvl72]",
        "network.compute.switches=[nvidia_qm9700]",
    )
    plan = api.solve(problem_files()["10MW"], settings=settings)
    (racks,) = (line.quantity for line in plan.lines if line.sku == "nvidia_gb200_nvl72")
    said = [text for text in plan.warnings if "is the largest that Quantum-2 QM9700 makes" in text]
    assert (racks == 128, bool(said)) == (ends, ends)
    if said:
        assert plan.warnings[0] == said[0]
        assert "128 systems, whatever power, racks and money allow" in said[0]


@pytest.mark.parametrize(("power", "kept_out"), [("150 MW", True), ("10 MW", False)])
def test_a_type_that_its_largest_fabric_keeps_out_is_named(power: str, kept_out: bool) -> None:
    settings = (f"site.facility_power={power}", "site.racks=5000", "budget.capex=10 BUSD")
    plan = api.solve(DENSE_HALL, settings=settings)
    said = [text for text in plan.warnings if "could not do as much as this plan" in text]
    assert bool(said) == kept_out
    if said:
        assert plan.warnings[0] == said[0]
        assert said[0].startswith("DGX GB200 NVL72 could not")
        assert "Spectrum-4 SN5600 connects at most 256 in three tiers" in said[0]


def test_an_in_band_fabric_that_ends_a_plan_says_so() -> None:
    """Switches of 32 ports of 400 Gb/s make 8,192 in three tiers, four of 100 Gb/s each."""
    settings = (
        "site.facility_power=600 MW",
        "site.racks=30000",
        "budget.capex=90 BUSD",
        "consider.gpu_systems=[nvidia_dgx_b300]",
        "network.storage.carries_in_band=false",
        "network.in_band={switch: nvidia_sn4700}",
    )
    plan = api.solve(problem_files()["10MW"], settings=settings)
    assert any("the in-band fabric is the largest" in text for text in plan.warnings)


def test_a_type_that_is_named_and_cannot_be_had_is_told_first() -> None:
    """The in-band switch has no ports of 200 Gb/s: without a word the plan was of the other."""
    settings = (
        "consider.gpu_systems=[nvidia_dgx_h200, nvidia_dgx_b200]",
        "network.storage={switch: nvidia_sn5600}",
        "network.in_band={switch: nvidia_sn4600c}",
    )
    plan = api.solve(problem_files()["10MW"], settings=settings)
    said = "DGX B200 is to be considered and was not: no port of nvidia_sn4600c takes one of 200"
    assert plan.warnings[0].startswith(said)
    known = api.solve(problem_files()["10MW"], settings=settings[1:2])
    assert not any("is to be considered" in text for text in known.warnings)


@pytest.mark.parametrize("switch", ["nvidia_q3400", "nvidia_sn5610"])
def test_a_manager_at_ports_that_go_no_lower_is_told(switch: str) -> None:
    settings = (
        f"network.compute.switches=[{switch}]",
        "consider.gpu_systems=[nvidia_dgx_b300]",
        "site.facility_power=2 MW",
    )
    plan = api.solve(problem_files()["10MW"], settings=settings)
    told = [text for text in plan.warnings if "ask the vendor which modules connect it" in text]
    assert bool(told) == (switch == "nvidia_q3400")
    assert all("the 4 links of the fabric manager" in text for text in told)
