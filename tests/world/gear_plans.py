"""Plans built by hand: every figure by the plain arithmetic of ``arithmetic``."""

from __future__ import annotations

from typing import Any

from planner.limits import known
from planner.schema.plan import (
    Assumption,
    JobPlan,
    LimitReport,
    Line,
    Loss,
    NotConsidered,
    ObjectiveReport,
    Plan,
    PriceNote,
    Provenance,
    Site,
    Totals,
)
from tests.world.gear import Gear, Setup, job, ratios, support_span, totals

BTU_PER_H_PER_KW = 3412.14


def line(gear: Gear, setup: Setup) -> Line:
    """Return the plan's line of a product."""

    def times(each: float | None) -> float | None:
        return None if each is None else each * gear.quantity

    def paid(each: float | None) -> float | None:
        return None if each is None else round(each * gear.purchased, 2)

    power = times(gear.kw)
    start, end = support_span(setup, gear)
    liquid = setup.pue if setup.pue_liquid is None else setup.pue_liquid
    pue = gear.liquid * liquid + (1 - gear.liquid) * setup.pue
    priced = gear.list_usd is not None
    return Line(
        sku=gear.sku,
        section=gear.section,  # type: ignore[arg-type]
        vendor=gear.vendor,
        model=gear.model,
        part_number=gear.part_number,
        description=gear.description,
        quantity=gear.quantity,
        installed=gear.installed,
        purchased=gear.purchased,
        unit_list_usd=gear.list_usd,
        discount=gear.discount,
        unit_net_usd=gear.net_usd,
        extended_list_usd=paid(gear.list_usd),
        extended_net_usd=paid(gear.net_usd),
        support_usd_per_year=paid(gear.support_each_usd) if priced else None,
        price=PriceNote(source="Reseller quote", date="2026-03-01", confidence="low", book="book")
        if priced
        else None,
        lead_time=gear.lead[0],
        lead_time_days=gear.lead[1],
        category=gear.category,
        role=gear.role,
        unit=gear.unit,
        spares=gear.spares,
        pack=gear.pack,
        subscription_usd_per_year=paid(gear.yearly_usd),
        unit_subscription_list_usd=gear.per_year_usd,
        support_share=gear.support_share,
        support_years=None if setup.years is None else max(0.0, end - start),
        support_from_years=start,
        liquid_share=gear.liquid,
        facility_power_kw=None if power is None else power * pue,
        unit_typical_power_kw=gear.typical_kw,
        typical_power_kw=times(gear.typical_kw),
        rack_class=gear.rack_class,  # type: ignore[arg-type]
        unit_it_power_kw=gear.kw,
        it_power_kw=power,
        unit_heat_btu_per_h=None if gear.kw is None else gear.kw * BTU_PER_H_PER_KW,
        heat_btu_per_h=None if power is None else power * BTU_PER_H_PER_KW,
        unit_rack_units=gear.rack_units,
        rack_units=times(gear.rack_units),
        racks=gear.racks,
        units_per_rack=gear.per_rack,
        unit_weight_kg=gear.kg,
        weight_kg=times(gear.kg),
        gpus=gear.gpus * gear.quantity,
        read_gb_per_s=gear.read * gear.quantity,
        write_gb_per_s=gear.write * gear.quantity,
        usable_tb=times(gear.usable),
        notes=gear.notes,
    )


def parts(gear: Gear) -> list[Line]:
    """Return the component lines of a bundle."""
    return [
        Line(
            sku=sku,
            parent=gear.sku,
            section="Components",
            vendor=gear.vendor,
            model=f"Part {sku}",
            part_number=None,
            description=None,
            quantity=gear.quantity * count,
            purchased=gear.purchased * count,
            unit_list_usd=None,
            discount=0.0,
            unit_net_usd=None,
            extended_list_usd=None,
            extended_net_usd=None,
            support_usd_per_year=None,
            price=None,
            unit_it_power_kw=kw,
            it_power_kw=kw * count * gear.quantity,
            unit_heat_btu_per_h=kw * BTU_PER_H_PER_KW,
            heat_btu_per_h=kw * count * gear.quantity * BTU_PER_H_PER_KW,
            unit_rack_units=height,
            rack_units=height * count * gear.quantity,
            racks=None,
            unit_weight_kg=kg,
            weight_kg=kg * count * gear.quantity,
        )
        for sku, count, kw, height, kg in gear.parts
    ]


def plan(setup: Setup, **changes: Any) -> Plan:
    """Return the verified plan of a set-up."""
    fields: dict[str, Any] = {
        "status": "optimal",
        "problem": "10 MW training hall",
        "description": "A plan for the tests",
        "objective": ObjectiveReport(
            name="goodput",
            sense="maximize",
            value=1.0,
            unit="PFLOP/s",
            bound=1.0,
            gap=1e-7,
            gap_asked=1e-6,
            best=1.0,
            given_away=0.0,
        ),
        "site": _site(setup),
        "lines": tuple(entry for gear in setup.gear for entry in (line(gear, setup), *parts(gear))),
        "totals": _totals(setup),
        "jobs": (_job(setup),),
        "limits": tuple(_limits(setup)),
        "fabrics": setup.fabrics,
        "racks": setup.rack_groups,
        "assumptions": (
            Assumption(
                name="failures",
                label="Failures per GPU and day",
                value=setup.failures,
                unit="1/day",
                source="arXiv 2407.21783 table 5",
                confidence="high",
            ),
            Assumption(
                name="fan_out", label="Restore", value=setup.fan_out, unit="", source="problem"
            ),
        ),
        "not_considered": (NotConsidered(sku="other", reason="no price"),),
        "warnings": ("prices are estimates",),
        "provenance": Provenance(
            tool="planner 0.1.0",
            catalogs=("gpu_systems.yaml",),
            price_books=("estimates.yaml",),
            problem_file="hall.yaml",
            scenario=None,
            overrides=(),
            input_sha256="0" * 64,
            solver="highs",
            versions={"highspy": "1.15.0"},
            iterations=3,
            seconds=None,
        ),
    }
    return Plan(**(fields | changes))


def infeasible() -> Plan:
    """Return a plan that says why there is none."""
    solved = plan(
        Setup(
            gear=(Gear("gpu", "Compute", 1, gpus=8), Gear("box", "Storage", 1, write=1.0, read=1.0))
        )
    )
    return solved.model_copy(
        update={
            "status": "infeasible",
            "message": "the racks hold no GPU system",
            "lines": (),
            "jobs": (),
            "limits": (),
            "totals": None,
        }
    )


def _site(setup: Setup) -> Site:
    return Site(
        pue=setup.pue,
        it_power_limit_kw=None,
        facility_power_limit_kw=10_000.0,
        racks_limit=300,
        years=setup.years,
        electricity_usd_per_kwh=setup.electricity,
        delivered_fraction_read=setup.fraction_read,
        delivered_fraction_write=setup.fraction_write,
        fill_limit=0.85,
        pue_liquid=setup.pue if setup.pue_liquid is None else setup.pue_liquid,
        colocation_usd_per_kw_month=setup.colocation,
        discount_rate=setup.rate,
        energy_basis="typical" if setup.typical_energy else "maximum",
    )


def _totals(setup: Setup) -> Totals:
    sums, cost = totals(setup), ratios(setup)
    power, liquid = sums["heat_air"] or 0.0, sums["heat_liquid"] or 0.0
    sections = dict.fromkeys(gear.section for gear in setup.gear)
    longest = [g.sku for g in setup.gear if g.purchased and g.lead[1] == sums["lead_days"]]
    return Totals(
        gpus=int(sums["gpus"] or 0),
        gpus_used=int(job(setup)["gpus"] or 0),
        it_power_kw=sums["it_power_kw"],
        facility_power_kw=sums["facility_power_kw"],
        heat_btu_per_h=sums["heat"],
        rack_units=sums["rack_units"],
        racks=int(sums["racks"] or 0),
        weight_kg=sums["weight_kg"],
        capex_usd=sums["capex_usd"],
        support_usd_per_year=sums["support"],
        energy_usd_per_year=sums["energy"],
        opex_usd_per_year=sums["opex"],
        tco_usd=sums["tco"],
        read_gb_per_s=sums["nameplate_read"] or 0.0,
        write_gb_per_s=sums["nameplate_write"] or 0.0,
        usable_tb=sums["usable_tb"],
        typical_power_kw=sums["typical_kw"],
        heat_air_kw=power,
        heat_liquid_kw=liquid,
        heat_air_btu_per_h=power * BTU_PER_H_PER_KW,
        heat_liquid_btu_per_h=liquid * BTU_PER_H_PER_KW,
        subscriptions_usd_per_year=sums["subscriptions"],
        colocation_usd_per_year=sums["colocation"],
        usd_per_useful_gpu_hour=cost["per_gpu_hour"],
        usd_per_million_tokens=cost["per_million"],
        lead_time_days=sums["lead_days"] or None,
        critical_skus=tuple(longest),
        capex_by_section_usd={
            section: sum(
                round((gear.net_usd or 0.0) * gear.purchased, 2)
                for gear in setup.gear
                if gear.section == section
            )
            for section in sections
        },
    )


def _job(setup: Setup) -> JobPlan:
    f: dict[str, Any] = job(setup)
    compute = [gear for gear in setup.gear if gear.gpus]
    return JobPlan(
        name="frontier-1t",
        gpu_type=compute[0].sku,
        gpu_types=tuple(gear.sku for gear in compute),
        storage_family="family",
        storage_families=("family",),
        mode=setup.mode,  # type: ignore[arg-type]
        gpus_used=f["gpus"],
        systems_used=f["systems"],
        replica_gpus=setup.replica_gpus,
        replicas=f["replicas"],
        tensor_gpus=None if setup.replica_gpus is None else 1,
        usable_gpus_by_type={gear.sku: gear.gpus for gear in compute},
        idle_gpus=f["systems"] * compute[0].gpus - f["gpus"] if len(compute) == 1 else 0,
        tflops_per_gpu=setup.tflops,
        mfu=setup.mfu,
        failures_per_gpu_day=setup.failures,
        checkpoint_gb=setup.checkpoint_gb,
        delivered_write_gb_per_s=f["write"],
        delivered_read_gb_per_s=f["read"],
        write_limited_by="appliances" if f["write_by_appliances"] else "clients",
        read_limited_by="appliances" if f["read_by_appliances"] else "clients",
        client_write_limit_gb_per_s=f["client_write"],
        client_read_limit_gb_per_s=f["client_read"],
        client_data_limit_gb_per_s=f["client_data"]
        if setup.readers_at_most and setup.ingest_per_gpu
        else None,
        writing_systems=f["writing"],
        reading_systems=f["reading"],
        interval_s=setup.interval_s,
        interval_policy="fixed",
        young_s=f["young_s"],
        daly_s=f["daly_s"],
        exact_s=f["exact_s"],
        stall_s=f["stall_s"],
        drain_s=f["drain_s"],
        overlap=f["overlap"],
        blocking=f["blocking"],
        fan_out=f["fan_out"],
        restore_s=f["restore_s"],
        restart_s=setup.restart_s,
        drain_slowdown=setup.slowdown,
        mtti_s=f["mtti_s"],
        goodput=f["goodput"],
        goodput_first_order=f["first_order"],
        goodput_understated=f["understated"],
        loss=Loss(
            stall=f["loss_stall"],
            rework=f["loss_rework"],
            drain=f["loss_drain"],
            restart=f["loss_restart"],
            restore=f["loss_restore"],
        ),
        useful_gpus=f["useful_gpus"],
        useful_pflops=f["useful_pflops"],
        days_to_train=f["days"],
        ingest_gb_per_s=f["ingest"],
        capacity_needed_tb=setup.needed_tb,
        write_volume_tb_per_day=f["volume"],
        hot_spare_systems=setup.idle // compute[0].gpus if setup.down else 0,
        fan_out_kind=setup.fan_out,  # type: ignore[arg-type]
        bytes_per_parameter=setup.bytes_per_parameter,
        writers="one_replica" if setup.writers_at_most else "all",
        readers="one_replica" if setup.readers_at_most else "all",
        checkpoints_held=setup.held,
        other_data_tb=setup.other_data_tb,
        tokens=None if setup.flop is None else setup.flop / 6 / (setup.active or 1e12),
        active_parameters=setup.active,
        **_down(setup, f),
    )


def _down(setup: Setup, f: dict[str, Any]) -> dict[str, Any]:
    if not setup.down:
        return {}
    return {
        "tolerate_down": setup.down,
        "degraded_write_gb_per_s": f["write_down"],
        "degraded_read_gb_per_s": f["read_down"],
        "degraded_drain_s": f["drain_down"],
        "degraded_overlap": None if setup.mode == "sync" else f["overlap_down"],
        "degraded_restore_s": f["restore_down"],
    }


def limit_value(setup: Setup, name: str) -> float | None:
    """Return what a set-up reaches of a limit, by plain arithmetic."""
    sums, figures = totals(setup), job(setup)
    quantities = {gear.sku: float(gear.quantity) for gear in setup.gear}
    values = {
        "it_power": sums["it_power_kw"],
        "facility_power": sums["facility_power_kw"],
        "racks": sums["racks"],
        "capex": sums["capex_usd"],
        "opex": sums["opex"],
        "tco": sums["tco"],
        "overlap": figures["overlap_down"],
        "drain_fits": figures["fits_down"],
        "blocking": figures["blocking_down"],
        "restore_time": figures["restore_down"],
        "capacity": sums["usable_tb"],
        "ingest": figures["data"],
        "endurance": figures["volume"],
        "rule_read": sums["nameplate_read"],
        "rule_write": sums["nameplate_write"],
        "min_gpus": figures["gpus"],
        "gpus_min": figures["gpus"],
        "gpus_max": figures["gpus"],
        "replica_fits": figures["gpus"],
        "min_goodput": figures["goodput"],
        "min_useful_gpus": figures["useful_gpus"],
        "min_useful_pflops": figures["useful_pflops"],
        "max_days_to_train": figures["days"],
        "client_write": figures["client_write"],
    }
    values |= _new_values(setup, sums, figures)
    for sku, quantity in quantities.items():
        for pattern in (f"max_units.{sku}", f"min_units.{sku}", f"items.{sku}.max"):
            values[pattern] = quantity
    return values[name]


def _new_values(
    setup: Setup, sums: dict[str, float | None], figures: dict[str, float | None]
) -> dict[str, float | None]:
    """Return what a set-up reaches of the limits of a complete bill."""
    cost = ratios(setup)
    values: dict[str, float | None] = {
        "heat_air": sums["heat_air"],
        "heat_liquid": sums["heat_liquid"],
        "support": sums["support"],
        "subscriptions": sums["subscriptions"],
        "energy": sums["energy"],
        "colocation": sums["colocation"],
        "per_useful_gpu_hour": cost["per_gpu_hour"],
        "per_million_tokens": cost["per_million"],
        "lead_time": sums["lead_days"],
        "require_vendor.0": float(
            sum(gear.quantity for gear in setup.gear if gear.core and gear.vendor == "DDN")
        ),
        "exact_families": 1.0,
        "split.0": 1.0,
    }
    for gear in setup.gear:
        values[f"stock.{gear.sku}"] = float(gear.purchased)
        values[f"hot_spares.{gear.sku}"] = gear.quantity - (figures["systems"] or 0.0)
    return values


def _limits(setup: Setup) -> list[LimitReport]:
    reports = []
    for name, (sense, allowed, unit) in setup.limits.items():
        value = limit_value(setup, name)
        assert value is not None
        slack = allowed - value if sense == "<=" else value - allowed
        row, of = known(name), name.partition(".")[2]
        reports.append(
            LimitReport(
                name=name,
                label=setup.labels.get(name, row.label.replace("*", of) if row else name),
                value=value,
                sense=sense,  # type: ignore[arg-type]
                limit=allowed,
                unit=unit,
                slack=slack,
                binding=slack < 1e-6,
                source="hall.yaml:12",
            )
        )
    return reports
