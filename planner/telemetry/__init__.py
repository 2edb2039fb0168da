"""Storage telemetry: traces, the checkpoints in them, and the jobs behind these."""

from planner.telemetry.characterize import Characterized, ClusterTrace, characterize
from planner.telemetry.raw import ReadOptions

__all__ = ["Characterized", "ClusterTrace", "ReadOptions", "characterize"]
