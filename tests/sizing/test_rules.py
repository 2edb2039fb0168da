"""The vendors' rules of thumb against their printed tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.demand import (
    VENDOR_RULES,
    appliances_needed,
    rule_demand,
    write_demand_gb_per_s,
)

AI400X2_READ_GB_PER_S = 90.0
AI400X2_WRITE_GB_PER_S = 65.0
AI400X2_IT_POWER_KW = 2.2
DGX_H100_IT_POWER_KW = 10.2


def ai400x2(rule: str, gpus: int) -> int:
    """Return the appliances that satisfy both directions of a rule."""
    read, write = rule_demand(VENDOR_RULES[rule], gpus)
    return max(
        appliances_needed(read, AI400X2_READ_GB_PER_S),
        appliances_needed(write, AI400X2_WRITE_GB_PER_S),
    )


def test_the_two_families_are_kept_apart() -> None:
    families = {name: rule.family for name, rule in VENDOR_RULES.items()}
    assert families == {
        "light": "ddn_per_gpu",
        "medium": "ddn_per_gpu",
        "high": "ddn_per_gpu",
        "good": "nvidia_superpod_h100",
        "better": "nvidia_superpod_h100",
        "best": "nvidia_superpod_h100",
    }
    assert {rule.family: rule.per_gpus for rule in VENDOR_RULES.values()} == {
        "ddn_per_gpu": 1,
        "nvidia_superpod_h100": 256,
    }
    assert all(rule.source and rule.note for rule in VENDOR_RULES.values())


@pytest.mark.parametrize(
    ("rule", "gpus", "read", "write"),
    [
        ("light", 8, 8, 6),
        ("medium", 8, 16, 12),
        ("high", 8, 32, 24),
        ("light", 256, 256, 192),
        ("medium", 256, 512, 384),
        ("high", 256, 1_024, 768),
        ("light", 3_072, 3_072, 2_304),
        ("good", 256, 15, 7),
        ("better", 256, 40, 20),
        ("best", 256, 125, 62),
        ("good", 1_016, 60, 28),
        ("better", 1_016, 160, 80),
        ("best", 1_016, 500, 248),
        ("better", 1, 40, 20),
        ("better", 257, 80, 40),
    ],
)
def test_t16_printed_rules(rule: str, gpus: int, read: float, write: float) -> None:
    assert rule_demand(VENDOR_RULES[rule], gpus) == pytest.approx((read, write))


@pytest.mark.parametrize(
    ("gpus", "light", "medium", "high"),
    [(256, 3, 6, 12), (1_016, 12, 24, 47), (3_072, 36, 71, 142)],
    ids=["T17", "T18", "T19"],
)
def test_appliances_the_rules_ask_for(gpus: int, light: int, medium: int, high: int) -> None:
    assert [ai400x2(rule, gpus) for rule in ("light", "medium", "high")] == [light, medium, high]


def test_t19_power_of_the_rules() -> None:
    power_kw = [ai400x2(rule, 3_072) * AI400X2_IT_POWER_KW for rule in ("light", "medium", "high")]
    assert power_kw == pytest.approx([79.2, 156.2, 312.4])


def test_t22_gpus_bought_with_the_power_the_light_rule_would_take() -> None:
    by_demand = appliances_needed(
        write_demand_gb_per_s(13_800, 0.10, 1_800), AI400X2_WRITE_GB_PER_S
    )
    saved_kw = (ai400x2("light", 3_072) - by_demand) * AI400X2_IT_POWER_KW
    assert saved_kw == pytest.approx(74.8)
    assert saved_kw // DGX_H100_IT_POWER_KW * 8 == 56


def test_x8_the_families_disagree_about_the_same_cluster() -> None:
    light = rule_demand(VENDOR_RULES["light"], 256)
    better = rule_demand(VENDOR_RULES["better"], 256)
    assert light[0] / better[0] == pytest.approx(6.4)
    assert light[1] / better[1] == pytest.approx(9.6)


@given(st.sampled_from(sorted(VENDOR_RULES)), st.integers(1, 10**5))
def test_more_gpus_never_ask_for_less(rule: str, gpus: int) -> None:
    smaller = rule_demand(VENDOR_RULES[rule], gpus)
    larger = rule_demand(VENDOR_RULES[rule], gpus + 1)
    assert all(after >= before for before, after in zip(smaller, larger, strict=True))
    next_unit = rule_demand(VENDOR_RULES[rule], gpus + VENDOR_RULES[rule].per_gpus)
    assert all(after > before for before, after in zip(smaller, next_unit, strict=True))


@pytest.mark.parametrize("bad", [0, -8])
def test_a_cluster_without_gpus_is_refused(bad: int) -> None:
    with pytest.raises(ValueError, match="gpus must be positive"):
        rule_demand(VENDOR_RULES["light"], bad)
