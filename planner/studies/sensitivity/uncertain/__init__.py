"""What becomes of a plan where inputs are not known exactly, and which plan to regret least."""

from __future__ import annotations

from planner.studies.sensitivity.uncertain.draw import Draw, unknowns
from planner.studies.sensitivity.uncertain.uncertainty import study

__all__ = ["Draw", "study", "unknowns"]
