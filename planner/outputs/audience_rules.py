"""What an edition without money keeps of a plan, field by field.

Every field of a plan is named here: what passes, what passes where it does not speak of money, and
what stands in place of the rest. A field that is not named is not passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.schema.plan import (
    Assumption,
    Device,
    FabricReport,
    IdleUnits,
    JobPlan,
    LimitReport,
    Line,
    Loss,
    NotConsidered,
    ObjectiveReport,
    Plan,
    PlanModel,
    PriceNote,
    Provenance,
    RackGroup,
    Site,
    Totals,
)


@dataclass(frozen=True)
class Rule:
    """What becomes of the fields of one part of a plan.

    ``kept`` pass as they are, parts of a plan in them by their own rules; ``texts`` pass where they
    do not speak of money, else what is given here stands instead (a list loses such entries);
    ``removed`` never pass.
    """

    kept: frozenset[str] = frozenset()
    texts: Mapping[str, object] = field(default_factory=dict)
    removed: Mapping[str, object] = field(default_factory=dict)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


RULES: Mapping[type[PlanModel], Rule] = {
    Plan: Rule(
        _names(
            "schema_version status objective site lines totals jobs limits fabrics racks "
            "assumptions not_considered not_counted idle provenance"
        ),
        {"problem": "Plan", "description": None, "message": None, "warnings": ()},
        # It names budgets, and what else the buyer could give up; the inputs hold every price.
        {"infeasibility": None, "inputs": None, "checksums": None},
    ),
    Line: Rule(
        _names(
            "sku site period parent section vendor model part_number quantity installed purchased "
            "lead_time lead_time_days unit_it_power_kw it_power_kw unit_heat_btu_per_h "
            "heat_btu_per_h unit_rack_units rack_units racks unit_weight_kg weight_kg gpus "
            "read_gb_per_s write_gb_per_s usable_tb category role unit spares pack liquid_share "
            "facility_power_kw unit_typical_power_kw typical_power_kw rack_class "
            "units_per_rack idle"
        ),
        {"description": None, "notes": ()},
        {
            "unit_list_usd": None,
            "discount": 0.0,
            "unit_net_usd": None,
            "extended_list_usd": None,
            "extended_net_usd": None,
            "support_usd_per_year": None,
            "subscription_usd_per_year": None,
            "unit_subscription_list_usd": None,
            "support_share": None,
            "support_years": None,  # when support is paid is a matter of money too
            "support_from_years": 0.0,
            "price": None,
        },
    ),
    PriceNote: Rule(removed=dict.fromkeys(("source", "date", "confidence", "book", "note"))),
    Totals: Rule(
        _names(
            "gpus gpus_used it_power_kw facility_power_kw heat_btu_per_h rack_units racks "
            "weight_kg read_gb_per_s write_gb_per_s usable_tb typical_power_kw heat_air_kw "
            "heat_liquid_kw heat_air_btu_per_h heat_liquid_btu_per_h lead_time_days critical_skus"
        ),
        removed={
            "capex_usd": None,
            "support_usd_per_year": None,
            "energy_usd_per_year": None,
            "opex_usd_per_year": None,
            "tco_usd": None,
            "subscriptions_usd_per_year": None,
            "colocation_usd_per_year": None,
            "usd_per_useful_gpu_hour": None,
            "usd_per_million_tokens": None,
            "capex_by_section_usd": {},
        },
    ),
    Device: Rule(_names("sku position_ru rack_units it_power_kw weight_kg")),
    RackGroup: Rule(
        _names(
            "first count rack_class product height_ru power_limit_kw weight_limit_kg "
            "it_power_kw weight_kg pdus devices"
        )
    ),
    FabricReport: Rule(
        _names(
            "network switch_sku serves planes tiers units radix leaf_switches spine_switches "
            "core_switches endpoints parts_per_port capacity uplinks_per_leaf oversubscription "
            "system_links leaf_spine_links spine_core_links"
        )
    ),
    Loss: Rule(_names("stall rework drain restart restore")),
    JobPlan: Rule(
        _names(
            "gpu_type gpu_types storage_family storage_families mode gpus_used systems_used "
            "systems_by_type replica_gpus replicas whole_replicas tensor_gpus per_system_gpus "
            "usable_gpus_by_type idle_gpus tflops_per_gpu mfu failures_per_gpu_day "
            "checkpoint_gb delivered_write_gb_per_s delivered_read_gb_per_s write_limited_by "
            "read_limited_by client_write_limit_gb_per_s client_read_limit_gb_per_s "
            "writing_systems reading_systems interval_s interval_policy young_s daly_s exact_s "
            "stall_s drain_s overlap blocking fan_out restore_s restart_s drain_slowdown mtti_s "
            "goodput goodput_first_order goodput_understated loss useful_gpus useful_pflops "
            "days_to_train ingest_gb_per_s capacity_needed_tb write_volume_tb_per_day "
            "hot_spare_systems tolerate_down degraded_write_gb_per_s degraded_read_gb_per_s "
            "degraded_drain_s degraded_overlap degraded_restore_s fan_out_kind bytes_per_parameter "
            "writers readers checkpoints_held other_data_tb tokens active_parameters "
            "max_overlap max_blocking"
        ),
        {"name": "job"},
    ),
    LimitReport: Rule(
        _names("name label value sense limit unit slack binding exact"), {"source": None}
    ),
    ObjectiveReport: Rule(
        _names(
            "name sense value unit bound gap log_value log_bound gap_asked best given_away "
            "indifference"
        ),
        removed={"best_capex_usd": None},
    ),
    Assumption: Rule(
        _names("name label value unit date confidence"), {"source": "not shown", "note": None}
    ),
    NotConsidered: Rule(_names("sku"), {"reason": "not on offer"}),
    IdleUnits: Rule(_names("sku units"), {"reason": "", "fix": ""}),
    Provenance: Rule(
        _names("tool input_sha256 solver versions iterations seconds"),
        {"catalogs": (), "problem_file": "", "scenario": None},
        {"price_books": (), "overrides": ()},
    ),
    Site: Rule(
        _names(
            "pue it_power_limit_kw facility_power_limit_kw racks_limit years "
            "delivered_fraction_read delivered_fraction_write fill_limit pue_liquid energy_basis"
        ),
        removed={
            "electricity_usd_per_kwh": None,
            "colocation_usd_per_kw_month": 0.0,
            "discount_rate": 0.0,
        },
    ),
}
