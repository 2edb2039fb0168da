"""Broken halls, budgets and terms of a whole bill."""

from __future__ import annotations

from tests.bad_input.row import Row, bill, edits

ROWS: tuple[Row, ...] = (
    *edits(
        bill,
        "feeds: {count: 4, power: 600 kW, redundancy: N+1}",
        (
            "feeds_without_power",
            "feeds: {count: 4}",
            "'power' is missing; add for example 'power: 10 MW'",
        ),
        (
            "feeds_of_no_unit",
            "feeds: {count: 4, power: 600}",
            "600 has no unit; write for example '10 MW'",
        ),
        (
            "feeds_of_no_power",
            "feeds: {count: 4, power: 0 kW}",
            "0 kW is out of range: expected more than 0 kW",
        ),
        ("no_feeds", "feeds: {count: 0, power: 600 kW}", "0 is out of range: expected at least 1"),
        (
            "floor_without_a_riser",
            "floor: {racks_per_row: 20, rack_width: 60 cm, row_pitch: 3 m}",
            "'riser' is missing; add for example 'riser: 3 m'",
        ),
        (
            "floor_of_no_unit",
            "floor: {racks_per_row: 20, rack_width: 0.6, row_pitch: 3 m, riser: 1 m}",
            "0.6 has no unit; write for example '3 m'",
        ),
        (
            "power_by_habit",
            "power_basis: typical",
            "'typical' is not known here; expected one of: maximum, design",
        ),
        (
            "half_a_feed",
            "feeds: {count: 2.5, power: 600 kW}",
            "expected a whole number, found '2.5'",
        ),
        (
            "feeds_as_a_number",
            "feeds: 4",
            "expected a mapping of keys to values, found '4'; its keys: count, power,",
        ),
        (
            "unknown_redundancy",
            "feeds: {count: 4, power: 600 kW, redundancy: N+2}",
            "'N+2' is not known here; did you mean 'N+1'?",
        ),
        (
            "odd_feeds_for_2n",
            "feeds: {count: 3, power: 600 kW, redundancy: 2N}",
            "2N needs an even count of feeds, not 3",
        ),
        (
            "one_feed_for_n_plus_1",
            "feeds: {count: 1, power: 600 kW, redundancy: N+1}",
            "redundancy N+1 needs at least 2 feeds",
        ),
    ),
    *edits(
        bill,
        "pue: {air: 1.4, liquid: 1.1}",
        (
            "pue_without_liquid",
            "pue: {air: 1.4}",
            "'liquid' is missing; add for example 'liquid: 1.25'",
        ),
        (
            "pue_of_air_below_one",
            "pue: {air: 0.9, liquid: 1.1}",
            "0.9 is out of range: expected at least 1 and at most 5",
        ),
        (
            "pue_of_liquid_as_a_share",
            "pue: {air: 1.4, liquid: 10 %}",
            "'%' in '10 %' does not fit a number; write for example '1.25'",
        ),
        (
            "pue_of_an_unknown_kind",
            "pue: {air: 1.4, liquid: 1.1, water: 1.2}",
            "unknown key 'water'; expected one of: air, liquid",
        ),
        (
            "pue_as_a_list",
            "pue: [1.4, 1.1]",
            "expected a number, found a list; write for example '1.25'",
        ),
    ),
    *edits(
        bill,
        "    weight: 1400 kg\n",
        (
            "rack_weight_in_rack_units",
            "    weight: 1400 RU\n",
            "'RU' in '1400 RU' is not a unit of weight; write for example '130 kg'",
        ),
    ),
    *edits(
        bill,
        "whole_rack_power: 130 kW",
        (
            "whole_rack_power_of_no_unit",
            "whole_rack_power: 130",
            "130 has no unit; write for example '10 MW'",
        ),
        (
            "whole_rack_power_of_nothing",
            "whole_rack_power: 0 kW",
            "0 kW is out of range: expected more than 0 kW",
        ),
    ),
    *edits(
        bill,
        "item: frame",
        ("rack_item_is_a_number", "item: 48", "expected text, found '48'; put it in quotes: '48'"),
    ),
    *edits(
        bill,
        "pdu: {item: strip, redundancy: 2N}",
        ("pdu_without_item", "pdu: {redundancy: 2N}", "'item' is missing; add 'item: ...'"),
        (
            "pdu_as_a_name",
            "pdu: strip",
            "expected a mapping of keys to values, found; its keys: item, redundancy",
        ),
        (
            "pdu_of_unknown_redundancy",
            "pdu: {item: strip, redundancy: 3N}",
            "'3N' is not known here; did you mean 'N'?",
        ),
    ),
    *edits(
        bill,
        "rack_classes: {network: {height: 42 RU, power: 20 kW, weight: 900 kg}}",
        (
            "unknown_rack_class",
            "rack_classes: {networks: {height: 42 RU}}",
            "unknown key 'networks'; did you mean 'network'?",
        ),
        (
            "rack_class_of_no_height",
            "rack_classes: {network: {height: 0 RU}}",
            "0 RU is out of range: expected more than 0 RU",
        ),
        (
            "rack_class_power_in_rack_units",
            "rack_classes: {network: {power: 20 RU}}",
            "'RU' in '20 RU' is not a unit of power; write for example '10 MW'",
        ),
        (
            "rack_class_weight_below_zero",
            "rack_classes: {network: {weight: -1 kg}}",
            "-1 kg is out of range: expected at least 0 kg",
        ),
    ),
    *edits(
        bill,
        "air_limit: 1800 kW",
        ("air_limit_of_no_unit", "air_limit: 1800", "1800 has no unit; write for example '10 MW'"),
        (
            "air_limit_of_nothing",
            "air_limit: 0 kW",
            "0 kW is out of range: expected more than 0 kW",
        ),
    ),
    *edits(
        bill,
        "liquid_limit: 1900 kW",
        (
            "liquid_limit_in_litres",
            "liquid_limit: 1900 l/s",
            "'l/s' in '1900 l/s' is not a unit of power; write for example '10 MW'",
        ),
    ),
    *edits(
        bill,
        "    redundancy: N+1\n",
        (
            "cooling_redundancy",
            "    redundancy: some\n",
            "'some' is not known here; expected one of: N, N+1, 2N",
        ),
    ),
    *edits(
        bill,
        "    cdu: pump\n",
        ("cdu_is_a_mapping", "    cdu: {item: pump}\n", "expected text, found a mapping"),
    ),
    *edits(
        bill,
        "support_per_year: 9 MUSD",
        (
            "support_budget_of_no_unit",
            "support_per_year: 9",
            "9 has no unit; write for example '450 MUSD'",
        ),
        (
            "support_budget_below_zero",
            "support_per_year: -9 MUSD",
            "-9 MUSD is out of range: expected at least 0 USD",
        ),
    ),
    *edits(
        bill,
        "subscriptions_per_year: 8 MUSD",
        (
            "subscriptions_budget_of_no_unit",
            "subscriptions_per_year: 8",
            "8 has no unit; write for example '450 MUSD'",
        ),
        (
            "subscriptions_budget_below_zero",
            "subscriptions_per_year: -8 MUSD",
            "-8 MUSD is out of range: expected at least 0 USD",
        ),
    ),
    *edits(
        bill,
        "energy_per_year: 7 MUSD",
        (
            "energy_budget_of_no_unit",
            "energy_per_year: 7",
            "7 has no unit; write for example '450 MUSD'",
        ),
        (
            "energy_budget_below_zero",
            "energy_per_year: -7 MUSD",
            "-7 MUSD is out of range: expected at least 0 USD",
        ),
        (
            "energy_budget_in_kwh",
            "energy_per_year: 7 kWh",
            "'kWh' in '7 kWh' is not a unit of money; write for example '450 MUSD'",
        ),
    ),
    *edits(
        bill,
        "colocation_per_year: 6 MUSD",
        (
            "colocation_budget_of_no_unit",
            "colocation_per_year: 6",
            "6 has no unit; write for example '450 MUSD'",
        ),
        (
            "colocation_budget_below_zero",
            "colocation_per_year: -6 MUSD",
            "-6 MUSD is out of range: expected at least 0 USD",
        ),
    ),
    *edits(
        bill,
        "per_useful_gpu_hour: 50 USD",
        (
            "useful_hour_for_nothing",
            "per_useful_gpu_hour: 0 USD",
            "0 USD is out of range: expected more than 0 USD",
        ),
        (
            "useful_hour_per_hour",
            "per_useful_gpu_hour: 50 USD/h",
            "'USD/h' in '50 USD/h' is not a unit of money; write for example '450 MUSD'",
        ),
    ),
    *edits(
        bill,
        "per_million_tokens: 40 USD",
        (
            "tokens_for_nothing",
            "per_million_tokens: 0 USD",
            "0 USD is out of range: expected more than 0 USD",
        ),
        (
            "tokens_as_a_list",
            "per_million_tokens: [40 USD]",
            "expected money, found a list; write for example '450 MUSD'",
        ),
    ),
    *edits(
        bill,
        "energy_basis: typical",
        (
            "unknown_energy_basis",
            "energy_basis: average",
            "'average' is not known here; expected one of: maximum,",
        ),
    ),
    *edits(
        bill,
        "colocation: 150 USD/kW/month",
        (
            "colocation_without_month",
            "colocation: 150 USD/kW",
            "'USD/kW' in '150 USD/kW' is not a unit of price; write for example '184",
        ),
        (
            "colocation_below_zero",
            "colocation: -1 USD/kW/month",
            "-1 USD/kW/month is out of range: expected at least 0 USD/kW/month",
        ),
        (
            "colocation_as_money",
            "colocation: 150 USD",
            "'USD' in '150 USD' is not a unit of price of; write for example '184",
        ),
    ),
    *edits(
        bill,
        "discount_rate: 7 %",
        (
            "discount_rate_over_one",
            "discount_rate: 107 %",
            "107 % is out of range: expected at least 0 and at most 1",
        ),
        (
            "discount_rate_below_zero",
            "discount_rate: -7 %",
            "-7 % is out of range: expected at least 0 and at most 1",
        ),
        (
            "discount_rate_in_words",
            "discount_rate: seven",
            "cannot read 'seven' as a share; write for example '10 %'",
        ),
    ),
    *edits(
        bill,
        "  support_years: 3\n",
        (
            "support_for_a_century",
            "  support_years: 100\n",
            "100 is out of range: expected at least 0 and at most 50",
        ),
        (
            "support_years_with_a_unit",
            "  support_years: 3 years\n",
            "'years' in '3 years' does not fit a number; write for example '1.25'",
        ),
        (
            "support_years_as_true",
            "  support_years: true\n",
            "expected a number, found true; write for example '1.25'",
        ),
    ),
)
