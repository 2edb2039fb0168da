"""Broken policies, counts and names of a whole bill."""

from __future__ import annotations

from tests.bad_input.row import Row, bill, edits

ROWS: tuple[Row, ...] = (
    *edits(
        bill,
        "prefer: {vendors: [Quick], within: 2 %}",
        (
            "prefer_without_vendors",
            "prefer: {within: 2 %}",
            "'vendors' is missing; add 'vendors: ...'",
        ),
        ("prefer_nobody", "prefer: {vendors: []}", "the list is empty; give one entry"),
        (
            "prefer_at_any_price",
            "prefer: {vendors: [Quick], within: 60 %}",
            "60 % is out of range: expected at least 0 and at most 0.5",
        ),
        (
            "prefer_for_money",
            "prefer: {vendors: [Quick], within: 2 USD}",
            "'USD' in '2 USD' does not fit a share; write for example '10 %'",
        ),
        (
            "preferred_vendor_unknown",
            "prefer: {vendors: [Qick]}",
            "no vendor 'Qick'; did you mean 'Quick'?",
        ),
    ),
    *edits(
        bill,
        "require_vendors: [Boxes]",
        ("require_as_a_name", "require_vendors: Boxes", "expected a list, found 'Boxes'"),
        (
            "required_vendor_unknown",
            "require_vendors: [Boxs]",
            "no vendor 'Boxs'; did you mean 'Boxes'?",
        ),
        (
            "required_vendor_sells_cables",
            "require_vendors: [Weft]",
            "no vendor 'Weft'; known: Boxes, Quick, Slow",
        ),
    ),
    *edits(
        bill,
        "forbid_vendors: [Slow]",
        (
            "forbid_by_number",
            "forbid_vendors: [7]",
            "expected text, found '7'; put it in quotes: '7'",
        ),
        (
            "forbidden_vendor_unknown",
            "forbid_vendors: [Slov]",
            "no vendor 'Slov'; did you mean 'Slow'?",
        ),
    ),
    *edits(
        bill,
        "- {category: storage, max_share: 100 %, measure: money}",
        (
            "split_of_switches",
            "- {category: switch, max_share: 50 %}",
            "'switch' is not known here; expected one of: gpu_system,",
        ),
        (
            "split_by_nothing",
            "- {category: storage, max_share: 0 %}",
            "0 % is out of range: expected at least 1e-06 and at most 1",
        ),
        (
            "split_over_one",
            "- {category: storage, max_share: 1.5}",
            "1.5 is out of range: expected at least 1e-06 and at most 1",
        ),
        (
            "split_by_weight",
            "- {category: storage, max_share: 50 %, measure: weight}",
            "'weight' is not known here; expected one of: units, money",
        ),
        (
            "split_without_share",
            "- {category: storage}",
            "'max_share' is missing; add for example 'max_share:",
        ),
    ),
    *edits(
        bill,
        "  split:\n    - {category: storage, max_share: 100 %, measure: money}\n",
        (
            "split_as_a_mapping",
            "  split: {category: storage, max_share: 100 %}\n",
            "expected a list, found a mapping",
        ),
    ),
    *edits(
        bill,
        "gpu_box: {max: 64, installed: 1, stock: 63, support_years: 2.5}",
        ("stock_below_zero", "gpu_box: {stock: -1}", "-1 is out of range: expected at least 0"),
        ("stock_of_half_a_unit", "gpu_box: {stock: 2.5}", "expected a whole number, found '2.5'"),
        (
            "item_support_for_a_century",
            "gpu_box: {support_years: 51}",
            "51 is out of range: expected at least 0 and at most 50",
        ),
        (
            "item_support_in_words",
            "gpu_box: {support_years: three}",
            "cannot read 'three' as a number; write for example '1.25'",
        ),
    ),
    *edits(
        bill,
        "exact_families: 1",
        ("no_exact_families", "exact_families: 0", "0 is out of range: expected at least 1"),
        ("exact_families_in_words", "exact_families: one", "expected a whole number, found 'one'"),
    ),
    *edits(
        bill,
        "tolerate_down: 1",
        ("tolerate_minus_one", "tolerate_down: -1", "-1 is out of range: expected at least 0"),
        ("tolerate_a_share", "tolerate_down: 10 %", "expected a whole number, found '10 %'"),
    ),
    *edits(
        bill,
        "hot_spares: 2 %",
        ("hot_spares_below_zero", "hot_spares: -1", "-1 is out of range: expected at least 0"),
        ("hot_spares_of_half_a_system", "hot_spares: 1.5", "expected a whole number, found '1.5'"),
        (
            "hot_spares_in_words",
            "hot_spares: some",
            "'some' is not well formed; write a number of systems, or",
        ),
        (
            "hot_spares_in_systems",
            "hot_spares: 2 systems",
            "'2 systems' is not well formed; write a number of systems, or",
        ),
        ("hot_spares_as_true", "hot_spares: true", "expected a whole number, found 'true'"),
    ),
    *edits(
        bill,
        "max_lead_time: 200 days",
        (
            "lead_time_of_no_unit",
            "max_lead_time: 200",
            "200 has no unit; write for example '90 day'",
        ),
        (
            "lead_time_of_nothing",
            "max_lead_time: 0 days",
            "0 days is out of range: expected more than 0 day",
        ),
        (
            "lead_time_in_kilograms",
            "max_lead_time: 200 kg",
            "'kg' in '200 kg' is not a unit of time; write for example '90 day'",
        ),
    ),
    *edits(
        bill,
        "switches: [weave]",
        (
            "unknown_switch",
            "switches: [weav]",
            "no switch 'weav' in the catalogs in use; did you mean 'weave'?",
        ),
        (
            "switch_of_another_category",
            "switches: [twin]",
            "'twin' is of category transceiver, expected; known: weave, mesh, tick",
        ),
        (
            "switch_twice",
            "switches: [weave, weave]",
            "a switch is listed twice; list each switch once",
        ),
    ),
    *edits(
        bill,
        "storage: {switch: mesh, oversubscription: 1.25, min_switches: 2}",
        (
            "unknown_storage_switch",
            "storage: {switch: mash}",
            "no switch 'mash' in the catalogs in use; did you mean 'mesh'?",
        ),
    ),
    *edits(
        bill,
        "    switch: mesh\n",
        (
            "in_band_switch_is_a_gpu_system",
            "    switch: gpu_box\n",
            "'gpu_box' is of category gpu_system, expected; known: weave, mesh, tick",
        ),
    ),
    *edits(
        bill,
        "out_of_band: {switch: tick, reserve_ports: 3, uplinks: 2}",
        (
            "unknown_management_switch",
            "out_of_band: {switch: tock}",
            "no switch 'tock' in the catalogs in use; did you mean 'tick'?",
        ),
        (
            "unlike_any_switch",
            "out_of_band: {switch: zzz}",
            "no switch 'zzz' in the catalogs in use; known: weave, mesh, tick",
        ),
        (
            "no_port_left",
            "out_of_band: {switch: tick, reserve_ports: 48}",
            "reserve_ports 48 leaves none of its 48 ports; reserve fewer",
        ),
    ),
    *edits(
        bill,
        "item: frame",
        (
            "unknown_rack",
            "item: fram",
            "no rack 'fram' in the catalogs in use; did you mean 'frame'?",
        ),
        ("rack_is_a_cdu", "item: pump", "'pump' is of category cdu, expected rack; known: frame"),
    ),
    *edits(
        bill,
        "pdu: {item: strip, redundancy: 2N}",
        (
            "unknown_pdu",
            "pdu: {item: stripe}",
            "no pdu 'stripe' in the catalogs in use; did you mean 'strip'?",
        ),
    ),
    *edits(
        bill,
        "    cdu: pump\n",
        (
            "unknown_cdu",
            "    cdu: pumps\n",
            "no cdu 'pumps' in the catalogs in use; did you mean 'pump'?",
        ),
        (
            "cdu_is_a_rack",
            "    cdu: frame\n",
            "'frame' is of category rack, expected cdu; known: pump",
        ),
    ),
    *edits(
        bill,
        "software: [suite]",
        (
            "unknown_software",
            "software: [sweet]",
            "no software 'sweet' in the catalogs in use; known: suite",
        ),
        (
            "software_is_a_switch",
            "software: [suite, tick]",
            "'tick' is of category switch, expected software; known: suite",
        ),
    ),
    *edits(
        bill,
        "keeper: {per: rack, every: 8}",
        (
            "unknown_extra",
            "keepr: {count: 2}",
            "no companion 'keepr' in the catalogs in use; did you mean 'keeper'?",
        ),
        (
            "extra_is_storage",
            "quick_store: {count: 2}",
            "'quick_store' is of category storage, expected; known: weave, mesh, tick,",
        ),
        (
            "extra_is_software",
            "suite: {count: 2}",
            "'suite' is of category software, expected; known: weave, mesh, tick,",
        ),
    ),
    *edits(
        bill,
        "weave: {installed: 2}",
        (
            "count_of_a_companion",
            "weave: {installed: 2, min: 4}",
            "the count of 'weave' follows from the systems; or name it under extras",
        ),
        (
            "companion_excluded",
            "weave: {exclude: true}",
            "the count of 'weave' follows from the systems; or name it under extras",
        ),
    ),
    *edits(
        bill,
        "  exact_families: 1\n",
        (
            "exact_and_most_families",
            "  exact_families: 1\n  max_families: 2\n",
            "exact_families 1 does not go with max_families 2; leave out max_families",
        ),
    ),
    bill(
        "required_and_forbidden",
        "forbid_vendors: [Slow]",
        "forbid_vendors: [Boxes]",
        "vendor Boxes is required and forbidden",
        "leave out the one or the other",
        at="require_vendors: [Boxes]",
    ),
    bill(
        "forced_families_beyond_the_exact",
        "  weave: {installed: 2}",
        "  quick_store: {min: 1}\n  slow_store: {min: 1}",
        "items demands 2 storage families (quick_fs,",
        "raise storage.exact_families",
        at="exact_families: 1",
    ),
    bill(
        "forbidden_companion",
        "forbid_vendors: [Slow]",
        "forbid_vendors: [Slow, Rig]",
        "'frame' comes with this plan, but is from Rig,",
        "name another item",
        at="item: frame",
    ),
    bill(
        "management_without_copper",
        "out_of_band: {switch: tick, ",
        "out_of_band: {switch: mesh, ",
        "'mesh' has no copper ports for consoles: 100 Gb/s at least",
        "name a management switch, such as",
    ),
    bill(
        "more_uplinks_than_there_are",
        "reserve_ports: 3, uplinks: 2}",
        "reserve_ports: 3, uplinks: 5}",
        "tick has 4 uplinks of 100 Gb/s, not 5",
        "give 4 or fewer",
    ),
    bill(
        "demanded_beyond_the_stock",
        "gpu_box: {max: 64, installed: 1, stock: 63, support_years: 2.5}",
        "gpu_box: {min: 9, installed: 1, stock: 7}",
        "9 of 'gpu_box' are demanded, but only 7 can be had beside 1 installed",
        "demand fewer, or raise the stock",
    ),
)
