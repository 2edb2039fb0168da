"""The version of planner."""

__version__ = "0.1.0"
