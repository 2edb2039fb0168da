"""The problem in numbers, as the optimiser reads it."""

from planner.case.items import FamilyOffer, Storage, System
from planner.case.job import IntervalRule, Job, Way
from planner.case.model import Case, Limits
from planner.case.resolve import resolve, with_companions

__all__ = [
    "Case",
    "FamilyOffer",
    "IntervalRule",
    "Job",
    "Limits",
    "Storage",
    "System",
    "Way",
    "resolve",
    "with_companions",
]
