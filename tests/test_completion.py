"""What a shell completes."""

from __future__ import annotations

from planner.cli_options import complete_examples, complete_items


def test_names_are_completed() -> None:
    assert complete_items("ddn_ai400x2_t") == ["ddn_ai400x2_turbo"]
    assert "enterprise_1MW" in complete_examples("ent")
