"""Set-ups that together reach every branch of the sheets."""

from __future__ import annotations

from dataclasses import replace

from tests.workbook.arithmetic import Gear, Setup
from tests.workbook.complete import COMPLETE

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
