"""The problem in numbers: what the optimiser works on. Users' words end here."""

from planner.case.model import (
    Case,
    FamilyOffer,
    IntervalRule,
    Job,
    Limits,
    Segment,
    Storage,
    System,
    Way,
)
from planner.case.resolve import resolve, with_companions

__all__ = [
    "Case",
    "FamilyOffer",
    "IntervalRule",
    "Job",
    "Limits",
    "Segment",
    "Storage",
    "System",
    "Way",
    "resolve",
    "with_companions",
]
