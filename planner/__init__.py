"""planner decides what to buy for an AI training cluster, to a proven gap."""

__version__ = "0.1.0"
