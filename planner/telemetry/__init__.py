"""Storage telemetry: traces, the checkpoints in them, and the jobs behind these."""

from planner.telemetry.characterize import Characterized, Cluster, characterize
from planner.telemetry.raw import ReadOptions

__all__ = ["Characterized", "Cluster", "ReadOptions", "characterize"]
