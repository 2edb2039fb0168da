"""The vendors' rules of thumb against their printed tables."""

import pytest

from planner.sizing.checkpoint import (
    VENDOR_RULES,
    rule_demand,
)


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


def test_x8_the_families_disagree_about_the_same_cluster() -> None:
    light = rule_demand(VENDOR_RULES["light"], 256)
    better = rule_demand(VENDOR_RULES["better"], 256)
    assert light[0] / better[0] == pytest.approx(6.4)
    assert light[1] / better[1] == pytest.approx(9.6)
