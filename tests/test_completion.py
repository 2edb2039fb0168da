"""What a shell completes, and that help is told whole with an example that can be run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from planner import shipped
from planner.cli_options import (
    complete_items,
    complete_scenarios,
    complete_settings,
)

COMMAND = SimpleNamespace(params={"problem": shipped.problem_files()["10MW"]})


def test_settings_are_completed_step_by_step() -> None:
    assert complete_settings(COMMAND, "site.facility") == ["site.facility_power="]
    assert "jobs." in complete_settings(COMMAND, "j")
    assert complete_settings(COMMAND, "jobs.") == ["jobs.0."]
    assert "jobs.0.checkpoint." in complete_settings(COMMAND, "jobs.0.ch")
    assert "jobs.0.checkpoint.interval.min=" in complete_settings(
        COMMAND, "jobs.0.checkpoint.interval."
    )
    assert complete_settings(COMMAND, "items.ddn_ai400x2_t") == ["items.ddn_ai400x2_turbo."]
    assert "items.ddn_ai400x2_turbo.max=" in complete_settings(COMMAND, "items.ddn_ai400x2_turbo.m")
    assert complete_settings(COMMAND, "site.facility_power=1") == []
    assert complete_settings(COMMAND, "nothing.of.it") == []


def test_names_are_completed(tmp_path: Path) -> None:
    assert complete_items("ddn_ai400x2_t") == ["ddn_ai400x2_turbo"]
    assert complete_scenarios(COMMAND, "h") == ["half_power"]
    assert complete_scenarios(SimpleNamespace(params={}), "") == []
    missing = SimpleNamespace(params={"problem": tmp_path / "none.yaml"})
    assert complete_scenarios(missing, "") == []
