"""Every link has two ends of its own, spread as the fabric promises."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.fabric import (
    ComputeDesign,
    SwitchPort,
    compute_sizes,
    fat_tree,
    free_ports,
    smallest,
    switch_links,
    system_port,
)

DESIGNS = st.builds(
    ComputeDesign,
    radix=st.sampled_from([8, 16, 40, 64]),
    oversubscription=st.sampled_from([1.0, 5 / 3, 3.0]),
    ports_per_system=st.sampled_from([2, 4, 8, 12]),
    rails=st.sampled_from([1, 2]),
    manager_slots=st.just(1),
    manager_ports=st.integers(0, 2),
    rail_group=st.sampled_from([0, 0, 2, 3, 4]),
)


@given(DESIGNS, st.integers(1, 60))
def test_no_port_is_used_twice_and_every_link_is_there(design: ComputeDesign, systems: int) -> None:
    sizes = compute_sizes(design, systems)
    if not sizes or sizes[-1].capacity < systems:
        return
    size = smallest(sizes, systems)
    assert size is not None
    tree, ports = size.tree, range(design.ports_per_system)
    below = [system_port(design, size, n, port) for n in range(systems) for port in ports]
    manager = free_ports(design, size, systems, design.manager_ports)
    per_rail = tree.leaves // (size.units * design.rails) if design.rail_group and size.units else 0
    links = list(switch_links(tree, size.leaf_down_ports, per_rail or size.units))
    ends = [*below, *manager, *(end for link in links for end in link)]
    assert max(Counter(ends).values()) == 1
    assert all(0 <= end.port < design.radix for end in ends)
    tiers = {"leaf": tree.leaves, "spine": tree.spines, "core": tree.cores}
    assert all(0 <= end.switch < tiers[end.tier] for end in ends)
    kinds = Counter((a.tier, b.tier) for a, b in links)
    assert kinds[("spine", "core")] == tree.spine_core_links
    assert kinds[("leaf", "spine")] + kinds[("leaf", "leaf")] == tree.leaf_spine_links
    spread = Counter((a.tier, a.switch, b.switch) for a, b in links)
    for tier in ("leaf", "spine"):
        assert len({count for (kind, _, _), count in spread.items() if kind == tier}) <= 1


@pytest.mark.parametrize(("systems", "leaf"), [(0, 0), (31, 0), (32, 1), (126, 3)])
def test_neighbouring_gpus_are_on_different_rails(systems: int, leaf: int) -> None:
    design = ComputeDesign(64, 1.0, 8, rails=8, manager_slots=1, manager_ports=4)
    size = smallest(compute_sizes(design, 127), 127)
    assert size is not None
    found = [system_port(design, size, systems, port) for port in range(8)]
    assert [end.switch for end in found] == [rail * 4 + leaf for rail in range(8)]
    # One position is left, on the last leaf of every rail; the manager's four cables take some.
    assert {end.switch for end in free_ports(design, size, 127, 4)} == {31, 27, 23, 19}


def test_a_rack_of_72_has_a_leaf_of_its_own_on_each_rail() -> None:
    design = ComputeDesign(64, 1.0, 72, rails=4, rail_group=8)
    size = smallest(compute_sizes(design, 64), 64)
    assert size is not None
    leaves = {
        n: {system_port(design, size, n, port).switch for port in range(72)} for n in range(64)
    }
    assert all(len(found) == 4 for found in leaves.values())
    assert sorted(leaf for found in leaves.values() for leaf in found) == list(range(256))
    links = list(switch_links(size.tree, 18, 8))
    first = {upper.switch for lower, upper in links if lower.tier == "leaf" and lower.switch == 0}
    assert first == set(range(6)), "six spines of its group"
    cores = {upper.switch for lower, upper in links if lower.tier == "spine" and lower.switch == 0}
    assert cores == set(range(12)), "the core group of the first spine of every group"


def test_rails_in_shares_where_one_is_more_than_a_group() -> None:
    tree = fat_tree(80, 1, 64, 32)
    assert tree is not None
    assert tree.groups == 3
    ends = [end for link in switch_links(tree, 32, 80) for end in link]
    assert max(Counter(ends).values()) == 1
    assert SwitchPort("core", tree.cores - 1, tree.core_ports - 1) in ends
