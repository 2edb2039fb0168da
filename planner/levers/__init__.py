"""The limits, demands and choices of a problem, each with its place, its unit and how to move it.

What is infeasible is explained in these, and what binds is moved by them: they are the one list of
what the owner of a problem could decide otherwise.
"""

from __future__ import annotations

from planner.inputs import Change, applied
from planner.levers.model import Direction, Lever
from planner.levers.problem import levers

__all__ = ["Change", "Direction", "Lever", "applied", "levers"]
