"""What a command that studies a problem gives back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planner.schema.plan import Status


@dataclass(frozen=True)
class Report:
    """What to print, the files written, and how the problem ended."""

    text: str
    written: tuple[Path, ...]
    status: Status
