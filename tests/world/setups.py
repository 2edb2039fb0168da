"""Set-ups that together reach every branch of the sheets.

`COMPLETE` is a whole bill: every companion, two kinds of heat, money over time, appliances down.
"""

from __future__ import annotations

from dataclasses import replace

from planner.schema.plan import Device, FabricReport, RackGroup
from tests.world.gear import Gear, Setup

GPU = Gear(
    "hgx_b300_liquid",
    "Compute",
    32,
    list_usd=498_000.0,
    discount=0.08,
    support_usd=41_200.5,
    kw=15.1,
    typical=12.3,
    liquid=0.7,
    rack_units=8.0,
    per_rack=4,
    kg=142.5,
    gpus=8,
    spares=1,
    vendor="Supermicro",
    model="HGX B300 8U liquid-cooled",
    description="8 x B300, 8 x 800 Gb/s",
    category="gpu_system",
    rack_class="gpu",
    support_from=1.0,
    support_years=3.0,
    lead=("8-16 weeks", 112.0),
    parts=(("node", 1, 14.9, 7.0, 130.0), ("manifold", 1, 0.2, 1.0, 12.5)),
)
STORE = Gear(
    "ai400x3",
    "Storage",
    4,
    list_usd=610_000.0,
    discount=0.25,
    support_share=0.0537,
    kw=3.1,
    rack_units=2.0,
    per_rack=12,
    kg=58.0,
    read=120.0,
    write=90.0,
    usable=450.0,
    vendor="DDN",
    model="AI400X3",
    category="storage",
    rack_class="storage",
    lead=("6-10 weeks", 70.0),
)


def companion(sku: str, section: str, quantity: int, **more: object) -> Gear:
    """Return a companion, by default without draw, height or rack of its own."""
    fields: dict[str, object] = {"kw": 0.0, "rack_units": 0.0, "per_rack": None, "kg": None}
    return Gear(sku, section, quantity, **(fields | {"lead": ("", None)} | more))  # type: ignore[arg-type]


NETWORK = (
    companion(
        "qm9700", "Network", 14, list_usd=28_750.4, kw=1.3, typical=0.75, rack_units=1.0, kg=14.8,
        support_usd=2_300.0, spares=1, vendor="NVIDIA", model="Quantum-2 QM9700",
        role="leaf and spine of the compute fabric, leaf of the storage fabric",
        category="switch", rack_class="network", lead=("12-20 weeks", 140.0),
    ),
    companion(
        "sn2201", "Network", 4, list_usd=5_120.0, kw=0.098, rack_units=1.0, kg=8.5,
        vendor="NVIDIA", model="SN2201", role="out-of-band network", category="switch",
        rack_class="network",
    ),
    companion(
        "sn4700", "Network", 2, list_usd=31_000.0, kw=1.07, rack_units=1.0, kg=11.0, installed=1,
        vendor="NVIDIA", model="SN4700", role="in-band network", category="switch",
        rack_class="network",
    ),
)  # fmt: skip
OPTICS = (
    companion(
        "fibre_10m", "Optics & cables", 530, list_usd=118.2, pack=25, spares=11, vendor="FS",
        model="MPO-12 APC fibre 10 m", role="compute fabric, storage fabric", category="cable",
    ),
    companion(
        "cat6", "Optics & cables", 98, list_usd=4.99, least=200, vendor="FS",
        model="Cat6 patch cable 5 m", role="out-of-band network", category="cable", kg=0.3,
    ),
    companion(
        "mma4z00", "Optics & cables", 268, list_usd=1_450.0, kw=0.017, spares=6, vendor="NVIDIA",
        model="MMA4Z00-NS twin-port 800G", role="switch ends", category="transceiver",
    ),
)  # fmt: skip
FACILITY = (
    companion(
        "cdu_250", "Racks & power", 3, list_usd=52_000.0, kw=3.0, rack_units=4.0, kg=114.0,
        vendor="Supermicro", model="In-rack CDU 250 kW", role="N+1", category="cdu",
        rack_class="network",
    ),
    companion(
        "pdu_px3", "Racks & power", 22, list_usd=2_890.0, vendor="Raritan", model="PX3-5878",
        role="2 per rack", category="pdu", kg=17.0,
    ),
    companion(
        "rack_48u", "Racks & power", 11, list_usd=3_400.0, vendor="Legrand", model="48 RU rack",
        category="rack", kg=180.0,
    ),
)  # fmt: skip
SOFTWARE = (
    companion(
        "nvaie", "Software", 256, list_usd=0.0, per_year_usd=3_937.5, vendor="NVIDIA",
        model="AI Enterprise", unit="licence", role="per GPU", category="software",
    ),
)  # fmt: skip


def fabric(network: str, switch: str, leaf: int, spine: int, **more: object) -> FabricReport:
    """Return a fabric of switches with 64 ports, 32 of them up where there are spines."""
    fields: dict[str, object] = {
        "network": network, "switch_sku": switch, "serves": ("hgx_b300_liquid",), "planes": 1,
        "tiers": 2 if spine else 1, "units": 1, "radix": 64, "leaf_switches": leaf,
        "spine_switches": spine, "core_switches": 0, "endpoints": 256, "parts_per_port": 1,
        "capacity": 256, "uplinks_per_leaf": 32 if spine else 0, "oversubscription": 1.0,
        "system_links": 256, "leaf_spine_links": 32 * leaf if spine else 0, "spine_core_links": 0,
    }  # fmt: skip
    return FabricReport(**(fields | more))  # type: ignore[arg-type]


def stack(sku: str, each: int, height: float, kw: float, kg: float | None) -> tuple[Device, ...]:
    """Return equal devices from the bottom up."""
    return tuple(
        Device(
            sku=sku,
            position_ru=1 + place * height,
            rack_units=height,
            it_power_kw=kw,
            weight_kg=kg,
        )
        for place in range(each)
    )


def rack(first: int, count: int, kind: str, devices: tuple[Device, ...], pdus: int) -> RackGroup:
    """Return equal racks."""
    weights = [device.weight_kg for device in devices if device.weight_kg is not None]
    return RackGroup(
        first=first,
        count=count,
        rack_class=kind,  # type: ignore[arg-type]
        product=False,
        height_ru=48.0,
        power_limit_kw=70.0,
        weight_limit_kg=1400.0,
        it_power_kw=sum(device.it_power_kw for device in devices),
        weight_kg=sum(weights),
        pdus=pdus,
        devices=devices,
    )


MIXED = (
    *stack("cdu_250", 3, 4.0, 3.0, 114.0),
    Device(sku="qm9700", position_ru=13.0, rack_units=1.0, it_power_kw=1.3, weight_kg=14.8),
    Device(sku="sn2201", position_ru=14.0, rack_units=1.0, it_power_kw=0.098, weight_kg=8.5),
)
COMPLETE = Setup(
    gear=(GPU, STORE, *NETWORK, *OPTICS, *FACILITY, *SOFTWARE),
    checkpoint_gb=3800.0,
    interval_s=900.0,
    idle=8,
    replica_gpus=31,
    client_write=16.0,
    client_read=32.0,
    failures=1e-3,
    years=4.5,
    electricity=0.09,
    pue=1.32,
    pue_liquid=1.08,
    colocation=45.0,
    rate=0.08,
    typical_energy=True,
    shared_racks=2,
    tflops=2250.0,
    active_parameters=70e9,
    other_data_tb=328.6,
    flop=6 * 70e9 * 15e12,
    down=1,
    lost_write=45.0,
    lost_read=60.0,
    labels={"require_vendor.0": "at least one unit from DDN"},
    limits={
        "facility_power": ("<=", 650.0, "kW"),
        "heat_air": ("<=", 250.0, "kW"),
        "heat_liquid": ("<=", 400.0, "kW"),
        "racks": ("<=", 12.0, "racks"),
        "capex": ("<=", 20e6, "USD"),
        "opex": ("<=", 4e6, "USD/year"),
        "tco": ("<=", 40e6, "USD"),
        "support": ("<=", 2e6, "USD/year"),
        "subscriptions": ("<=", 1.1e6, "USD/year"),
        "energy": ("<=", 0.5e6, "USD/year"),
        "colocation": ("<=", 0.3e6, "USD/year"),
        "per_useful_gpu_hour": ("<=", 5.0, "USD"),
        "per_million_tokens": ("<=", 0.9, "USD"),
        "lead_time": ("<=", 150.0, "days"),
        "stock.fibre_10m": ("<=", 600.0, "units"),
        "hot_spares.hgx_b300_liquid": (">=", 1.0, "systems"),
        "require_vendor.0": (">=", 1.0, "units"),
        "split.0": ("<=", 1.0, "share"),
        "exact_families": (">=", 1.0, "families"),
        "overlap": ("<=", 0.10, "share"),
        "drain_fits": ("<=", 900.0, "s"),
        "restore_time": ("<=", 300.0, "s"),
        "capacity": (">=", 400.0, "TB"),
    },
    fabrics=(
        fabric("compute", "qm9700", 8, 4, units=1, endpoints=248),
        fabric("storage", "qm9700", 2, 0, endpoints=80, capacity=128, parts_per_port=2),
        fabric("in_band", "sn4700", 2, 0, endpoints=70, capacity=128, radix=32),
        fabric("out_of_band", "sn2201", 4, 0, endpoints=98, capacity=184, radix=48),
    ),
    rack_groups=(
        rack(1, 8, "gpu", stack("hgx_b300_liquid", 4, 8.0, 15.1, 142.5), 2),
        rack(9, 1, "storage", stack("ai400x3", 4, 2.0, 3.1, 58.0), 2),
        rack(10, 2, "network", MIXED, 2),
    ),
)

DGX = Gear(
    "dgx_h100",
    "Compute",
    160,
    list_usd=412_345.67,
    discount=0.123,
    support_usd=39_800.0,
    kw=10.2,
    rack_units=8.0,
    kg=130.45,
    gpus=8,
    parts=(("gpu_tray", 1, 7.9, 5.0, 90.0), ("power_supply", 6, 0.35, 0.5, 5.2)),
    vendor="NVIDIA",
    model="DGX H100",
    part_number="00965-0010",
    description="8 x H100 SXM5 80 GB, 8 x 400 Gb/s, dual CPU, 2 TB memory",
)
AI400 = Gear(
    "ai400x2",
    "Storage",
    6,
    list_usd=905_000.55,
    discount=0.3,
    support_usd=72_400.04,
    kw=2.2,
    rack_units=2.0,
    per_rack=5,
    kg=47.6,
    read=90.0,
    write=65.0,
    usable=250.0,
    vendor="DDN",
    model="AI400X2",
    description="24 NVMe drives",
)
OLD = Gear(
    "ai400x",
    "Storage",
    2,
    installed=2,
    kw=1.6,
    per_rack=10,
    read=48.0,
    write=34.0,
    usable=120.0,
    vendor="DDN",
    model="AI400X",
    notes=("already on the floor",),
)

ASYNC = Setup(
    gear=(DGX, AI400, OLD),
    slowdown=0.02,
    fan_out="sharded_optimizer",
    limits={
        "facility_power": ("<=", 2100.0, "kW"),
        "racks": ("<=", 50.0, "racks"),
        "capex": ("<=", 70e6, "USD"),
        "tco": ("<=", 110e6, "USD"),
        "overlap": ("<=", 0.10, "share"),
        "drain_fits": ("<=", 1234.5, "s"),
        "restore_time": ("<=", 300.0, "s"),
        "capacity": (">=", 400.0, "TB"),
        "ingest": (">=", 12.8, "GB/s"),
        "endurance": ("<=", 1500.0, "TB/day"),
        "replica_fits": (">=", 512.0, "GPUs"),
        "min_goodput": (">=", 0.5, "share"),
        "max_days_to_train": ("<=", 5000.0, "days"),
        "items.dgx_h100.max": ("<=", 170.0, "units"),
        "client_write": ("<=", 1e5, "GB/s"),
    },
)
SYNC = Setup(
    gear=(
        Gear("gpu_a", "Compute", 60, list_usd=250_000.0, gpus=8, kw=7.0, kg=None),
        Gear("flash", "Storage", 9, list_usd=None, kw=None, read=40.0, write=20.0, usable=None),
        Gear("disk", "Storage", 3, list_usd=99_999.99, discount=1 / 3, read=10.0, write=9.0),
    ),
    mode="sync",
    checkpoint_gb=2415.0,
    interval_s=5000.0,
    idle=32,
    replica_gpus=64,
    fan_out="every_replica",
    writers_at_most=8,
    readers_at_most=8,
    client_write=8.0,
    client_read=60.0,
    mfu=None,
    flop=None,
    years=None,
    electricity=None,
    limits={
        "it_power": ("<=", 900.0, "kW"),
        "capex": ("<=", 16e6, "USD"),
        "blocking": ("<=", 0.05, "share"),
        "gpus_max": ("<=", 480.0, "GPUs"),
        "rule_write": (">=", 150.0, "GB/s"),
        "min_useful_gpus": (">=", 300.0, "GPUs"),
        "max_units.flash": ("<=", 9.0, "units"),
    },
)
MINIMAL = Setup(
    gear=(
        Gear("gpu_b", "Compute", 1, list_usd=300_000.0, gpus=72, kw=132.0, per_rack=1),
        Gear("box", "Storage", 1, list_usd=0.0, read=5.0, write=2.5, usable=60.0),
    ),
    checkpoint_gb=900.0,
    interval_s=3600.0,
    stall_s=0.0,
    failures=1e-6,
    replica_gpus=None,
)
# What is lost when writing is hidden by the clients, when reading it is not.
SYNC_DOWN = replace(SYNC, down=1, lost_write=20.0, lost_read=40.0)
CASES = {
    "async": ASYNC,
    "sync": SYNC,
    "minimal": MINIMAL,
    "complete": COMPLETE,
    "sync_down": SYNC_DOWN,
}
