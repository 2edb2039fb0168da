"""Fat trees against the tables of reference architectures, and the wiring they promise."""

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing import fabric
from planner.sizing.fabric import (
    ComputeDesign,
    FabricSize,
    PortDesign,
    Tree,
    compute_sizes,
    free_ports,
    port_sizes,
    smallest_size,
    split_ports,
    switch_links,
    system_port,
)


def size_for(design: ComputeDesign, systems: int) -> FabricSize:
    size = smallest_size(compute_sizes(design, systems), systems)
    assert size is not None
    return size


SUPERPOD_B200 = ComputeDesign(64, 1.0, ports_per_system=8, rails=8)
SUPERPOD_A100 = ComputeDesign(40, 1.0, ports_per_system=8, rails=8)


@pytest.mark.parametrize(
    ("systems", "leaves", "spines", "cores"), [(120, 48, 48, 40), (140, 56, 64, 40)]
)
def test_switches_of_the_superpod_a100_are_as_published(
    systems: int, leaves: int, spines: int, cores: int
) -> None:
    """DGX SuperPOD A100 reference architecture RA-09950-001: 20 systems to a unit.

    With whole rails to a group its 40-port switches would be 80 spines and 24 or 28 cores: rails in
    shares of two to four leaves take fewer, and block as little.
    """
    size = size_for(SUPERPOD_A100, systems)
    assert size.units * 20 == size.capacity == systems
    assert (size.tree.leaves, size.tree.spines, size.tree.cores) == (leaves, spines, cores)


def fat_tree(
    *, leaves_per_rail: int, rails: int, radix: int, oversubscription: float
) -> Tree | None:
    return fabric.fat_tree(leaves_per_rail, rails, radix, split_ports(radix, oversubscription)[1])


DESIGNS = st.builds(
    dict,
    leaves_per_rail=st.integers(1, 300),
    rails=st.sampled_from([1, 2, 3, 4, 6, 8]),
    radix=st.sampled_from([8, 16, 31, 36, 40, 48, 64, 128, 144]),
    oversubscription=st.sampled_from([1.0, 1.5, 5 / 3, 2.0, 3.0, 7.0]),
)


def groupings(design: dict) -> list[tuple[int, int]]:
    """Groups and their leaves, written down once more: by search, without divisors."""
    u, r, d = design["leaves_per_rail"], design["rails"], design["radix"] // 2
    found = [(g, r // g * u) for g in range(1, r + 1) if r % g == 0 and r // g * u <= d]
    found += [(r * h, math.ceil(u / h)) for h in range(2, u + 1) if math.ceil(u / h) <= d]
    return found


def smallest_tops(design: dict) -> tuple[int, int, int, int, int] | None:
    """Return (spines + cores, groups, leaves of a group, spines of a group, cores), or None."""
    radix, (_, up) = design["radix"], split_ports(design["radix"], design["oversubscription"])
    found = []
    for g, ell in groupings(design):
        s = next(s for s in range(1, up + 1) if up % s == 0 and ell * up <= s * (radix // 2))
        v = ell * up // s
        pairs = itertools.product(range(1, s + 1), range(1, v + 1))
        fits = [s // b * c for b, c in pairs if not s % b and not v % c and g * b * v <= radix * c]
        if fits:
            found.append((g * s + min(fits), g, ell, s, min(fits)))
    return min(found, default=None)


@given(DESIGNS)
def test_spines_and_cores_are_the_fewest_that_do(design: dict) -> None:
    tree = fat_tree(**design)
    radix, (_, up) = design["radix"], split_ports(design["radix"], design["oversubscription"])
    if design["leaves_per_rail"] * design["rails"] <= radix:
        if tree is not None:
            fits = (s for s in range(2, up + 1) if up % s == 0 and tree.leaves * up // s <= radix)
            assert tree.spines == next(fits)
        return
    tops = smallest_tops(design)
    assert (tree is None) == (tops is None)
    if tree is not None and tops is not None:
        _, g, ell, s, cores = tops
        v = ell * up // s
        assert tree.cores == cores
        assert (tree.spines, tree.spine_up_ports) == (g * s, v)


def test_a_pair_of_switches_without_spines() -> None:
    pair, three = port_sizes(PortDesign(64, 4, 1.0, min_switches=2), 3 * 32 * 4)
    joined = Tree(tiers=1, leaves=2, uplinks_per_leaf=32, leaf_spine_links=32)
    assert (pair.capacity, pair.units, pair.tree) == (2 * 32 * 4, 0, joined)
    assert (three.capacity, three.units) == (3 * 32 * 4, 3)
    assert three.tree == fat_tree(leaves_per_rail=3, rails=1, radix=64, oversubscription=1.0)


def test_one_switch_alone_has_all_its_ports() -> None:
    alone, three = port_sizes(PortDesign(64, 4, 1.0, min_switches=1), 300)
    assert (alone.capacity, alone.units, alone.tree) == (256, 0, Tree(tiers=1, leaves=1))
    assert three.units == 3  # two leaves below spines hold no more than one switch alone
    wide = port_sizes(PortDesign(64, 1, 3.0, min_switches=1), 96)
    assert [size.units for size in wide] == [0, 2]


@pytest.mark.parametrize("most", [*range(8), 31, 32, 33, 64, 65, 500, 4_097])
def test_sizes_end_with_the_first_that_holds_what_is_asked(most: int) -> None:
    ports = PortDesign(radix=64, parts_per_port=2, oversubscription=1.0)
    for sizes, every in (
        (compute_sizes(SUPERPOD_B200, most), compute_sizes(SUPERPOD_B200, 10_000)),
        (port_sizes(ports, most), port_sizes(ports, 10_000)),
    ):
        held = [size.capacity for size in every if size.capacity < most]
        assert sizes == every[: len(held) + 1 if most else 0]


# Every link has two ends of its own, spread as the fabric promises.


WIRED = st.builds(
    ComputeDesign,
    radix=st.sampled_from([8, 16, 40, 64]),
    oversubscription=st.sampled_from([1.0, 5 / 3, 3.0]),
    ports_per_system=st.sampled_from([2, 4, 8, 12]),
    rails=st.sampled_from([1, 2]),
    manager_slots=st.just(1),
    manager_ports=st.integers(0, 2),
    rail_group=st.sampled_from([0, 0, 2, 3, 4]),
)


@given(WIRED, st.integers(1, 60))
def test_no_port_is_used_twice_and_every_link_is_there(design: ComputeDesign, systems: int) -> None:
    sizes = compute_sizes(design, systems)
    if not sizes or sizes[-1].capacity < systems:
        return
    size = smallest_size(sizes, systems)
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
    size = smallest_size(compute_sizes(design, 127), 127)
    assert size is not None
    found = [system_port(design, size, systems, port) for port in range(8)]
    assert [end.switch for end in found] == [rail * 4 + leaf for rail in range(8)]
    # One position is left, on the last leaf of every rail; the manager's four cables take some.
    assert {end.switch for end in free_ports(design, size, 127, 4)} == {31, 27, 23, 19}


def test_a_rack_of_72_has_a_leaf_of_its_own_on_each_rail() -> None:
    design = ComputeDesign(64, 1.0, 72, rails=4, rail_group=8)
    size = smallest_size(compute_sizes(design, 64), 64)
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
