"""`planner size` against hand arithmetic: checkpoints, intervals, rules, appliances, errors."""

import math
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.loader import load
from planner.schema.operation import ApplianceRow, RuleRow, SizeReport
from planner.size_report import size_report
from tests.world.solved import DENSE_HALL

SEED = """
name: seeds
site: {it_power: 20 MW, pue: 1.25, rack: {height: 48 RU, power: 45 kW}}
catalogs: [gpu_systems, storage_ddn]
consider: {gpu_systems: [nvidia_dgx_h100]}
storage: {delivered_fraction: {read: 1, write: 1}}
jobs:
  - name: one
    lost_time: none
    checkpoint:
      size: 13.8 TB
      keep_last: 0
      interval: {policy: fixed, every: 30 min}
    restore: {max_time: 5 min}
objective: {maximize: gpus}
"""
LAYOUT = "jobs.0.parallelism={tensor: 8, pipeline: 64}"


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    path = tmp_path / "seed.yaml"
    path.write_text(SEED, encoding="utf-8")
    return path


def sized(path: Path, gpus: int | None, *settings: str) -> SizeReport:
    return size_report(load(path, settings=settings), gpus)


def rule(report: SizeReport, name: str) -> RuleRow:
    return next(row for row in report.rules if row.rule == name)


def appliance(report: SizeReport, name: str, item: str = "ddn_ai400x2") -> ApplianceRow:
    return next(row for row in rule(report, name).appliances if row.item == item)


# Facts T17 to T19: DDN's per-GPU classes in AI400X2 (90/65 GB/s, 2.2 kW).
@pytest.mark.parametrize(
    ("gpus", "units"), [(256, (3, 6, 12)), (1016, (12, 24, 47)), (3072, (36, 71, 142))]
)
def test_ddn_classes_are_counted_in_whole_appliances(
    seed: Path, gpus: int, units: tuple[int, ...]
) -> None:
    found = sized(seed, gpus, "jobs.0.checkpoint.interval.every=4 h")
    rows = [appliance(found, name) for name in ("light", "medium", "high")]
    assert tuple(row.units for row in rows) == units
    assert [row.it_power_kw for row in rows] == pytest.approx([2.2 * count for count in units])
    # 368.64 TB at 753 USD, two controllers at 21,000, a licence of 300 USD for each of 250 TB
    assert [row.net_usd for row in rows] == pytest.approx([394_585.92 * count for count in units])
    assert [row.racks for row in rows] == [-(-count // 20) for count in units]


def test_vendor_rules_are_nameplate_and_the_law_is_delivered(seed: Path) -> None:
    found = sized(seed, 3072, "storage.delivered_fraction={read: 0.5, write: 0.5}")
    assert appliance(found, "light").units == 36
    assert appliance(found, "demand law").units == 3  # 76.7 / 0.5 = 153.3 GB/s of 65 each
    running = rule(found, "light").running
    assert running is not None and running.drain_s == pytest.approx(13_800 / (0.5 * 2304))


# Fact T23: restore in 300 s, by broadcast and by all six replicas.
@pytest.mark.parametrize(
    ("fan_out", "read", "units"), [("broadcast", 46, 1), ("every_replica", 276, 4)]
)
def test_restore_time_and_fan_out_set_the_read_demand(
    seed: Path, fan_out: str, read: float, units: int
) -> None:
    settings = (LAYOUT, f"jobs.0.restore.fan_out={fan_out}", "jobs.0.checkpoint.interval.every=4 h")
    found = sized(seed, 3072, *settings)
    assert rule(found, "demand law").read_demand_gb_per_s == pytest.approx(read)
    row = appliance(found, "demand law")
    assert (row.units, row.decided_by) == (units, "write" if units == 1 else "read")
    assert found.restore_gb_per_s == pytest.approx(read)


# Fact T20: 64 writers that move 273 GB/s, and Hybrid-IO's factor of 1.7.
def test_clients_limit_what_appliances_can_do(seed: Path) -> None:
    settings = (
        LAYOUT,
        "jobs.0.checkpoint.writers=one_replica",
        "storage.client_limit.write=4.265625 GB/s",
        "jobs.0.checkpoint.interval.every=300 s",
        "storage.endurance=off",
    )
    found = sized(seed, 3072, *settings)
    assert found.writing_systems == 64
    assert found.client_write_gb_per_s == 273.0
    assert rule(found, "demand law").write_demand_gb_per_s == pytest.approx(460.0)
    assert "ddn_ai400x2" not in [row.item for row in rule(found, "demand law").appliances]
    assert any("writing needs 460 GB/s" in note for note in found.notes)
    hybrid = appliance(found, "demand law", "ddn_ai400x2_hybrid_io")  # 464 GB/s
    assert hybrid.units == 8


@pytest.mark.parametrize(
    ("gpus", "asked"),
    [(256, [(15, 7), (40, 20), (125, 62)]), (257, [(30, 14), (80, 40), (250, 124)])],
)
def test_nvidia_rules_count_whole_units(
    seed: Path, gpus: int, asked: list[tuple[float, float]]
) -> None:
    found = sized(seed, gpus)
    rows = [rule(found, name) for name in ("good", "better", "best")]
    assert [(row.read_demand_gb_per_s, row.write_demand_gb_per_s) for row in rows] == asked
    assert {row.group for row in rows} == {"nvidia_superpod_h100"}


@pytest.mark.parametrize("lost", [0.0, 0.08])
def test_goodput_with_just_the_demanded_bandwidth(lost: float) -> None:
    found = sized(DENSE_HALL, None, f"jobs.0.lost_time={lost}")
    mtti = found.mtti_s
    for row in found.modes[0].rows:
        interval, drain, restart = row.interval_s, 0.1 * row.interval_s, 600 + 300
        runs = row.running
        assert runs is not None
        z = interval / mtti
        exact = (1 - 5 / interval) * math.exp(-(drain + restart) / mtti) * z / math.expm1(z)
        exact *= 1 - lost
        assert runs.goodput_share == pytest.approx(exact, rel=1e-9)
        assert (runs.drain_s, runs.restore_s) == (pytest.approx(drain), pytest.approx(300))


def test_synchronous_saves_ask_by_the_blocking_law() -> None:
    found = sized(DENSE_HALL, None, "jobs.0.checkpoint.mode=open")
    assert [row.rule for row in found.rules[:2]] == ["demand law", "blocking law"]
    sync, mtti = found.modes[1], found.mtti_s
    z = sync.rows[0].interval_s / mtti
    assert 0.95 * z == pytest.approx(1 - math.exp(-z))
    for row in sync.rows:
        assert row.write_demand_gb_per_s == pytest.approx(13_799.52 / (0.05 * row.interval_s))
        assert row.running is not None
        assert row.running.stall_s == pytest.approx(0.05 * row.interval_s)
        assert row.running.drain_s == 0.0
    best = sync.rows[0].running
    assert best is not None
    near = sized(DENSE_HALL, None, "jobs.0.checkpoint.mode=sync").modes[0].rows[0].running
    assert near == best


@pytest.mark.parametrize(
    ("settings", "gpus", "code"),
    [
        (("site={pue: 1.25}", "objective={minimize: cost}"), None, "unlimited"),
        ((LAYOUT,), 100, "replica"),
        ((LAYOUT, "site.it_power=500 kW"), None, "no-room"),
        (("site.it_power=1 kW",), None, "no-room"),
        (("items.nvidia_dgx_h100.exclude=true",), 8, "no-gpu-system"),
    ],
)
def test_a_size_without_gpus_or_room_is_refused_with_the_fix(
    seed: Path, settings: tuple[str, ...], gpus: int | None, code: str
) -> None:
    with pytest.raises(InputError) as caught:
        sized(seed, gpus, *settings)
    finding = caught.value.findings[0]
    assert finding.code == code and finding.fix


BULK = (
    "jobs.0.dataset={size: 17 PB, tier: bulk, staged: 100 TB}",
    "jobs.0.ingest_per_gpu=0.02 GB/s",
    "storage.fill_limit=85 %",
)


def test_bulk_tier_has_its_own_capacity_and_read_rate(seed: Path) -> None:
    saved = sized(seed, 1000, *BULK)
    assert saved.bulk_needed_tb == pytest.approx(17_000 / 0.85)
    assert saved.ingest_demand_gb_per_s == pytest.approx(20.0)
    assert saved.capacity_needed_tb == pytest.approx((13.8 + 100) / 0.85)
    text = str(sized(seed, 1000, *BULK))
    (line,) = (line for line in text.splitlines() if line.startswith("Bulk tier"))
    assert "20,000 TB" in line and "20 GB/s" in line
    assert "Bulk tier" not in str(sized(seed, 1000))
