"""Problem files whose values cannot be: units, numbers, kinds, ranges."""

from __future__ import annotations

from tests.bad_input.world import Row, problem

POWER = "facility_power: 2 MW"
STALL = "stall: 5 s"
SIZE = "      mode: async\n"

ROWS: tuple[Row, ...] = (
    problem(
        "wrong_unit", POWER, "facility_power: 2 TB",
        wrong=r"site\.facility_power: 'TB' in '2 TB' is not a unit of power", right="'10 MW'",
    ),
    problem(
        "no_unit", POWER, "facility_power: 2000",
        wrong="2000 has no unit", right="write for example '10 MW'",
    ),
    problem(
        "no_unit_in_text", POWER, 'facility_power: "2000"',
        wrong="'2000' has no unit", right="write for example '10 MW'",
    ),
    problem(
        "unit_of_other_case", POWER, "facility_power: 2 mw",
        wrong="'mw' in '2 mw' is not a unit of power", right="did you mean 'MW'",
    ),
    problem(
        "unknown_unit", STALL, "stall: 5 fortnights",
        wrong="'fortnights' in '5 fortnights' is not a unit of time", right="'10 min'",
    ),
    problem(
        "bits_for_bytes", "    failures: llama3", "    ingest_per_gpu: 0.4 Gb/s",
        wrong="'Gb/s' in '0.4 Gb/s' is in bits", right=r"write '0\.05 GB/s' if bits are meant",
    ),
    problem(
        "bits_per_second", "    failures: llama3", "    ingest_per_gpu: 400 Gbit/s",
        wrong="'Gbit/s' in '400 Gbit/s' is in bits", right="write '50 GB/s' if bits are meant",
    ),
    problem(
        "gib_for_gb", SIZE, "      size: 980 GiB\n",
        wrong=r"size is 1\.052 TB, but .* is 0\.98 TB \(the ratio is that of GiB to GB",
        right="give only one of the two",
    ),
    problem(
        "tib_for_tb", SIZE, "      size: 0.98 TiB\n",
        wrong=r"but .* is 0\.98 TB \(the ratio is that of TiB to TB", right="only one of the two",
    ),
    problem(
        "size_at_odds", SIZE, "      size: 3 TB\n",
        wrong=r"size is 3 TB, but .* is 0\.98 TB", right="give only one of the two",
    ),
    problem(
        "wrong_currency", "capex: 60 MUSD", "capex: 60 MEUR",
        wrong="'MEUR' in '60 MEUR' is not a unit of money", right="'450 MUSD'",
    ),
    problem(
        "dollar_sign", "capex: 60 MUSD", "capex: $60M",
        wrong=r"cannot read '\$60M' as money", right="'450 MUSD'",
    ),
    problem(
        "decimal_comma", "pue: 1.25", "pue: 1,25",
        wrong="a comma in '1,25'", right="decimal point",
    ),
    problem(
        "thousands_comma", "capex: 60 MUSD", "capex: 60,000,000 USD",
        wrong="a comma in '60,000,000 USD'", right="no other marks, for example '450 MUSD'",
    ),
    problem(
        "negative_power", POWER, "facility_power: -2 MW",
        wrong="-2 MW is out of range", right="expected more than 0 kW",
    ),
    problem(
        "zero_power", POWER, "facility_power: 0 MW",
        wrong="0 MW is out of range", right="expected more than 0 kW",
    ),
    problem(
        "negative_count", "keep_last: 3", "keep_last: -3",
        wrong="keep_last: -3 is out of range", right="at least 0",
    ),
    problem(
        "fraction_of_a_count", "keep_last: 3", "keep_last: 2.5",
        wrong="found '2.5'", right="expected a whole number",
    ),
    problem(
        "huge_count", "racks: 40", "racks: 40000000000",
        wrong=r"site\.racks: 40000000000 is out of range", right="at most 10,000,000",
    ),
    problem(
        "not_a_number", "pue: 1.25", "pue: .nan",
        wrong="nan is not a finite", right=r"write for example '1\.25'",
    ),
    problem(
        "infinite", "pue: 1.25", "pue: .inf",
        wrong="inf is not a finite", right="write for example",
    ),
    problem(
        "nan_with_a_unit", POWER, "facility_power: nan MW",
        wrong="cannot read 'nan MW' as power", right="'10 MW'",
    ),
    problem(
        "huge", "parameters: 70 B", "parameters: 7e300",
        wrong="is not a finite, sensible number", right="70 B",
    ),
    problem(
        "endless_digits", "parameters: 70 B", "parameters: " + "9" * 5000,
        wrong=r"'9{20,}\.\.\.' is not a sensible number", right="write fewer digits, for example 70 B",
        at="parameters: 999",
    ),
    problem(
        "bool_for_number", "pue: 1.25", "pue: true",
        wrong="expected a number, found true", right="write for example",
    ),
    problem(
        "bool_for_count", "keep_last: 3", "keep_last: true",
        wrong="found 'true'", right="expected a whole number",
    ),
    problem(
        "list_for_mapping", "objective: {maximize: goodput}", "objective: [goodput]",
        wrong="found a list", right="its keys: .*maximize, minimize",
    ),
    problem(
        "mapping_for_list", "catalogs:\n  - own.yaml\n", "catalogs: {own: yaml}\n",
        wrong="found a mapping", right="expected a list",
    ),
    problem(
        "text_for_mapping", "budget:\n  capex: 60 MUSD\n", "budget: 60 MUSD\n",
        wrong="found '60 MUSD'", right="expected a mapping of keys to values",
    ),
    problem(
        "list_for_number", "pue: 1.25", "pue: [1.25]",
        wrong="found a list", right="expected a number",
    ),
    problem(
        "number_for_text", "name: Small hall", "name: 2026",
        wrong="expected text, found '2026'", right="put it in quotes: '2026'",
    ),
    problem(
        "null_value", "pue: 1.25", "pue: null",
        wrong="pue: .*found nothing", right="expected a number",
    ),
    problem(
        "null_section", "objective: {maximize: goodput}", "objective:",
        wrong="objective: .*found nothing", right="expected a mapping of keys to values",
    ),
    problem(
        "share_over_one", "read: 0.8, write: 0.8", "read: 80, write: 0.8",
        wrong="80 is out of range", right=r"at most 1",
        at="read: 80",
    ),
    problem(
        "pue_below_one", "pue: 1.25", "pue: 0.8",
        wrong=r"0\.8 is out of range", right="at least 1 and at most 5",
    ),
    problem(
        "min_over_max_interval", "min: 1 min, max: 4 h", "min: 5 h, max: 4 h",
        wrong="min 18000 s is more than max 14400 s", right="more than max",
        at="min: 5 h",
    ),
    problem(
        "stall_not_under_interval", STALL, "stall: 5 h",
        wrong="the stall of 18000 s", right=r"of 14400 s; shorten the stall or lengthen the interval",
    ),
    problem(
        "stall_equals_interval", "stall: 5 s\n      interval: {policy: optimal, min: 1 min, max: 4 h}",
        "stall: 5 min\n      interval: {policy: fixed, every: 300 s}",
        wrong="the stall of 300 s", right="of 300 s; shorten the stall or lengthen the interval",
    ),
)  # fmt: skip
