"""The workbook of the shipped example, solved for real and in its harder variants."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.schema.plan import Plan
from tests.workbook.conftest import written
from tests.workbook.office import convert, named, needs_office, to_read, values
from tests.workbook.test_recalculation import differences
from tests.world.chosen import chosen
from tests.world.solved import solved

VARIANTS = {
    "as_shipped": (),
    "sync": ("jobs.0.checkpoint.mode=sync",),
    "every_replica": (
        "jobs.0.restore.fan_out=every_replica",
        "jobs.0.restore.readers=one_replica",
        "jobs.0.checkpoint.writers=one_replica",
        "jobs.0.gpus.whole=replicas",
    ),
    "rule": ("storage.rule=good", "jobs.0.checkpoint.drain_slowdown=0.1"),
    "over_time": (
        "term.discount_rate=0.07",
        "term.support_years=2.5",
        "term.years=4.5",
        "term.energy_basis=typical",
        "site.pue={air: 1.3, liquid: 1.1}",
    ),
    "appliances_down": (
        "storage.tolerate_down=1",
        "jobs.0.repair=null",
        "jobs.0.gpus.hot_spares=1",
    ),
    "complete": (
        "catalogs=[gpu_systems, storage_ddn, storage_weka, network, facility, software]",
        "network.compute.switches=[nvidia_qm9700, nvidia_q3400, nvidia_sn5600]",
        "network.storage.switch=nvidia_sn5600",
        "network.storage.carries_in_band=false",
        "network.in_band.switch=nvidia_sn5600",
        "network.out_of_band.switch=nvidia_sn2201",
        "site.rack.item=rack_48u",
        "site.rack.pdu={item: pdu_raritan_px3_5878, redundancy: N+1}",
        "site.cooling.cdu=cdu_coolit_chx2000",
        "software=[nvidia_ai_enterprise]",
        "spares={switch: 2 %, cable: 2 %}",
        "term.discount_rate=0.05",
        "site.pue={air: 1.3, liquid: 1.1}",
    ),
    "two_types": ("jobs.0.repair=null", "jobs.0.gpus.max_types=2", "storage.max_families=2"),
}


@pytest.fixture(scope="module")
def plans(request: pytest.FixtureRequest) -> dict[str, Plan]:
    names = chosen(request, "name")
    return {name: solved("10MW", *VARIANTS[name]) for name in VARIANTS if name in names}


@pytest.fixture(scope="module")
def shown(plans: dict[str, Plan], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the workbooks of the plans as LibreOffice has recalculated them."""
    folder = tmp_path_factory.mktemp("shipped")
    files = [folder / f"{name}.xlsx" for name in plans]
    for file, plan in zip(files, plans.values(), strict=True):
        file.write_bytes(written(plan))
    return dict(zip(plans, convert(folder, files), strict=True))


TOTALS = (
    "it_power_kw", "typical_power_kw", "facility_power_kw", "heat_btu_per_h", "heat_air_kw",
    "heat_liquid_kw", "racks", "capex_usd", "support_usd_per_year", "subscriptions_usd_per_year",
    "energy_usd_per_year", "colocation_usd_per_year", "opex_usd_per_year", "tco_usd",
    "usd_per_useful_gpu_hour", "usd_per_million_tokens", "lead_time_days",
)  # fmt: skip


def expect_totals(figures: dict[str, object], plan: Plan) -> None:
    """Compare every total that the workbook shows with the plan's."""
    assert plan.totals is not None
    known = plan.totals.model_dump()
    for name in TOTALS:
        if name in figures and known[name] is not None:
            assert figures[name] == pytest.approx(known[name], rel=1e-9), name
    assert {"capex_usd", "tco_usd", "facility_power_kw"} <= set(figures)


@needs_office
@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_recalculated_values_are_the_plans(
    name: str, plans: dict[str, Plan], shown: dict[str, Path]
) -> None:
    plan, cells = plans[name], values(shown[name])
    assert differences(values(written(plan)), cells) == []
    figures, job = named(shown[name], cells), plan.jobs[0]
    expect_totals(figures, plan)
    assert figures["goodput"] == pytest.approx(job.goodput, rel=1e-9)
    assert figures["restore_s"] == pytest.approx(job.restore_s, rel=1e-9)
    assert figures["exact_s"] == pytest.approx(job.exact_s, rel=1e-9)
    assert cells["Checks", "A6"] == f"All {len(plan.limits)} limits hold"


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_no_limit_is_left_as_solved(name: str, plans: dict[str, Plan]) -> None:
    book = to_read(written(plans[name]), data_only=True)
    rows = list(book["Checks"].iter_rows(min_row=9))
    follows = [row[8].value for row in rows]
    idle = [row[11].value for row in rows if row[6].value == "n/a"]
    assert len(follows) - len(idle) == len(plans[name].limits)
    assert set(idle) <= {"overlap", "drain_fits", "blocking", "ingest"}
    assert all(text in ("yes", "the value") for text in follows)
