"""Fat trees once more: switches and links of leaves, spines and cores, by even spread."""

from __future__ import annotations

from dataclasses import dataclass

from planner.verifier.basis import at_least, divisors


@dataclass(frozen=True)
class Tree:
    """Switches, links between tiers, and the ports in use of each spine and core.

    ``groups`` are those of leaves with spines of their own.
    """

    tiers: int
    leaves: int
    spines: int = 0
    cores: int = 0
    leaf_spine_links: int = 0
    spine_core_links: int = 0
    spine_ports: int = 0
    core_ports: int = 0
    groups: int = 1


def split(radix: int, oversubscription: float) -> tuple[int, int]:
    """Return a leaf's (downlinks, uplinks)."""
    up = at_least(radix / (1 + oversubscription))
    return radix - up, up


def fat_tree(leaves_per_rail: int, rails: int, radix: int, up: int) -> Tree | None:
    """Return the tree over so many leaves, None where there is none.

    Args:
        leaves_per_rail: leaves of one rail; all of them where there are no rails.
        rails: rails, each with leaves of its own; 1 for none.
        radix: ports of a switch.
        up: uplinks of a leaf.
    """
    leaves = rails * leaves_per_rail
    if leaves <= radix:
        return two_tiers(leaves, radix, up)
    trees = [
        (tree.spines + tree.cores, groups, tree)
        for groups, group_leaves in _leaf_groups(leaves_per_rail, rails, radix // 2)
        if (tree := three_tiers(leaves, groups, group_leaves, radix, up)) is not None
    ]
    return min(trees, key=lambda entry: entry[:2])[2] if trees else None


def three_tiers(leaves: int, groups: int, group_leaves: int, radix: int, up: int) -> Tree | None:
    """Return groups of leaves with spines of their own below cores, None where there is none."""
    enough = [s for s in divisors(up) if s >= -(-group_leaves * up // (radix // 2))]
    if not enough:
        return None
    spines = enough[0]
    spine_up = group_leaves * up // spines
    choices = [
        (spines // b * c, groups * b * spine_up // c)
        for b in divisors(spines)
        for c in divisors(spine_up)
        if groups * b * spine_up <= radix * c
    ]
    if not choices:
        return None
    cores, core_ports = min(choices)
    return Tree(
        tiers=3,
        leaves=leaves,
        spines=groups * spines,
        cores=cores,
        leaf_spine_links=leaves * up,
        spine_core_links=groups * spines * spine_up,
        spine_ports=2 * spine_up,
        core_ports=core_ports,
        groups=groups,
    )


def two_tiers(leaves: int, radix: int, up: int) -> Tree | None:
    """Return leaves below common spines, None where one uplink would have to reach two."""
    links = leaves * up
    enough = [s for s in divisors(up) if s >= max(2, -(-links // radix))]
    if not enough:
        return None
    spines = enough[0]
    return Tree(2, leaves, spines, leaf_spine_links=links, spine_ports=links // spines)


def _leaf_groups(leaves_per_rail: int, rails: int, down: int) -> list[tuple[int, int]]:
    """Return the ways to give leaves spines in common: groups, and the leaves of each."""
    if leaves_per_rail <= down:
        together = [q for q in divisors(rails) if q * leaves_per_rail <= down]
        return [(rails // q, q * leaves_per_rail) for q in together]
    per_rail = -(-leaves_per_rail // down)
    return [(rails * per_rail, -(-leaves_per_rail // per_rail))]
