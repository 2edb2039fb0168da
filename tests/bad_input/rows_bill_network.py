"""Broken fabrics, software, extras and spares of a whole bill."""

from __future__ import annotations

from tests.bad_input.row import Row, bill, edits

ROWS: tuple[Row, ...] = (
    *edits(
        bill,
        "switches: [weave]",
        ("one_switch_as_text", "switches: weave", "expected a list, found 'weave'"),
        ("no_switches", "switches: []", "the list is empty; give one entry"),
        (
            "switch_ids_are_lower_case",
            "switches: [Weave]",
            "'Weave' is not well formed; an id is lower-case letters,",
        ),
    ),
    *edits(
        bill,
        "oversubscription: 1.5",
        (
            "oversubscription_below_one",
            "oversubscription: 0.5",
            "0.5 is out of range: expected at least 1 and at most 64",
        ),
        (
            "oversubscription_beyond_reason",
            "oversubscription: 65",
            "65 is out of range: expected at least 1 and at most 64",
        ),
        (
            "oversubscription_as_a_ratio",
            "oversubscription: '3:1'",
            "':1' in '3:1' does not fit a number; write for example '1.25'",
        ),
    ),
    *edits(
        bill,
        "planes: 2",
        ("no_planes", "planes: 0", "0 is out of range: expected at least 1"),
        ("half_a_plane", "planes: 1.5", "expected a whole number, found '1.5'"),
    ),
    *edits(
        bill,
        "single_switch: true",
        ("single_switch_as_a_count", "single_switch: 1", "expected true or false, found '1'"),
        ("single_switch_in_old_yaml", "single_switch: yes", "expected true or false, found 'yes'"),
    ),
    *edits(
        bill,
        "manager: {slots: 1, ports: 2}",
        (
            "manager_slots_below_zero",
            "manager: {slots: -1, ports: 2}",
            "-1 is out of range: expected at least 0",
        ),
        (
            "manager_ports_in_words",
            "manager: {slots: 1, ports: two}",
            "expected a whole number, found 'two'",
        ),
        (
            "manager_as_a_count",
            "manager: 1",
            "expected a mapping of keys to values, found '1'; its keys: ports, slots, transceiver",
        ),
        (
            "manager_ports_without_a_slot",
            "manager: {ports: 2}",
            "manager ports need a system position: a full; give manager: {slots: 1,",
        ),
        (
            "manager_that_takes_a_cable",
            "manager: {slots: 1, ports: 2, transceiver: fibre}",
            "'fibre' is of category cable, expected transceiver; known: optic",
        ),
    ),
    *edits(
        bill,
        "storage: {switch: mesh, oversubscription: 1.25, min_switches: 2}",
        (
            "three_least_switches",
            "storage: {switch: mesh, min_switches: 3}",
            "'3' is not known here; expected one of: 1, 2",
        ),
        (
            "storage_fabric_without_a_switch",
            "storage: {min_switches: 2}",
            "'switch' is missing; add 'switch: ...'",
        ),
        (
            "storage_oversubscription_of_nothing",
            "storage: {switch: mesh, oversubscription: 0}",
            "0 is out of range: expected at least 1 and at most 64",
        ),
        (
            "edge_without_a_speed",
            "storage: {switch: mesh, edge: {ports: 2}}",
            "'speed' is missing; add for example 'speed: 400 Gb/s'",
        ),
        (
            "edge_too_fast",
            "storage: {switch: mesh, edge: {ports: 2, speed: 1600 Gb/s}}",
            "no port of mesh takes 1600 Gb/s: its ports have",
        ),
    ),
    bill(
        "storage_that_carries_what_has_its_own",
        "storage: {switch: mesh, oversubscription: 1.25, min_switches: 2}",
        "storage: {switch: mesh, carries_in_band: true}",
        "network.storage carries in-band management, so",
        "leave out network.in_band, or",
        at="  in_band:",
    ),
    *edits(
        bill,
        "out_of_band: {switch: tick, reserve_ports: 3, uplinks: 2}",
        (
            "reserve_below_zero",
            "out_of_band: {switch: tick, reserve_ports: -1}",
            "-1 is out of range: expected at least 0",
        ),
        (
            "reserve_as_a_share",
            "out_of_band: {switch: tick, reserve_ports: 10 %}",
            "expected a whole number, found '10 %'",
        ),
        (
            "uplinks_below_zero",
            "out_of_band: {switch: tick, uplinks: -2}",
            "-2 is out of range: expected at least 0",
        ),
        (
            "uplinks_as_a_speed",
            "out_of_band: {switch: tick, uplinks: 100 Gb/s}",
            "expected a whole number, found '100 Gb/s'",
        ),
    ),
    *edits(
        bill,
        "  in_band:\n    switch: mesh\n",
        (
            "misspelt_network",
            "  inband:\n    switch: mesh\n",
            "unknown key 'inband'; did you mean 'in_band'?",
        ),
    ),
    *edits(
        bill,
        "software: [suite]",
        ("software_as_a_name", "software: suite", "expected a list, found 'suite'"),
        ("software_by_number", "software: [5]", "expected text, found '5'; put it in quotes: '5'"),
    ),
    *edits(
        bill,
        "keeper: {per: rack, every: 8}",
        (
            "extra_by_count_and_per",
            "keeper: {count: 2, per: rack}",
            "give exactly one of count: 4 or per: gpu_system (with every: 32)",
        ),
        (
            "extra_of_no_number",
            "keeper: {every: 8}",
            "give exactly one of count: 4 or per: gpu_system (with every: 32)",
        ),
        ("extra_count_of_nothing", "keeper: {count: 0}", "0 is out of range: expected at least 1"),
        (
            "extra_as_a_number",
            "keeper: 4",
            "expected a mapping of keys to values, found '4'; its keys: count, every, per",
        ),
        (
            "extra_per_what",
            "keeper: {per: pod}",
            "'pod' is not known here; expected one of: gpu_system,",
        ),
        (
            "extra_every_none",
            "keeper: {per: rack, every: 0}",
            "0 is out of range: expected at least 1",
        ),
        (
            "extra_every_half",
            "keeper: {per: rack, every: 0.5}",
            "expected a whole number, found '0.5'",
        ),
    ),
    *edits(
        bill,
        "spares: {cable: 5 %}",
        (
            "spares_of_an_item",
            "spares: {fibre: 5 %}",
            "'fibre' is not known here; expected one of: gpu_system,",
        ),
        (
            "spares_over_one",
            "spares: {cable: 5}",
            "5 is out of range: expected at least 0 and at most 1",
        ),
        (
            "spares_below_zero",
            "spares: {cable: -5 %}",
            "-5 % is out of range: expected at least 0 and at most 1",
        ),
        (
            "spares_in_kilograms",
            "spares: {cable: 5 kg}",
            "'kg' in '5 kg' does not fit a share; write for example '10 %'",
        ),
    ),
    bill(
        "storage_fabric_as_a_name",
        "storage: {switch: mesh, oversubscription: 1.25, min_switches: 2}",
        "storage: mesh",
        "expected a mapping of keys to values, found",
        "its keys: carries_in_band, edge, min_switches,",
        at="storage: mesh",
    ),
)
