"""How a trace is to be read, and what is known of its jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planner.errors import Finding, InputError

ReadAs = Literal["rate", "bytes", "counter"]
"""Bandwidth, bytes moved in each sample, or bytes moved since some time before."""


@dataclass(frozen=True)
class ReadOptions:
    """How a trace is to be read.

    Attributes:
        time, write, read, cluster: names of the columns; None finds them by their names. Columns of
            dates and of times are written DATE+TIME; with ``sum`` a pattern stands for several.
        sum: add up columns of one kind, and rows of one time.
        unit: of the figures, a bandwidth or a size; None reads it from the column's name or cells.
        decimal: the mark before the decimals of figures in text; None finds it out.
        time_format: how times are written, as strptime has it; None knows ISO 8601 and its kin.
        read_as: what the figures are; None finds out by the unit and how they run.
        stamp: whether a time is the start or the end of its sample.
        window_s: the time over which each sample is a mean; None finds out.
        bytes_per_parameter: what a job's size is divided by for the parameters implied.
    """

    time: str | None = None
    write: str | None = None
    read: str | None = None
    cluster: str | None = None
    sum: bool = False
    unit: str | None = None
    decimal: str | None = None
    time_format: str | None = None
    read_as: ReadAs | None = None
    stamp: Literal["start", "end"] = "start"
    window_s: float | None = None
    bytes_per_parameter: float = 14.0


def require(options: ReadOptions) -> None:
    """Refuse options that make no sense.

    Raises:
        InputError: bytes per parameter are not more than 0, or far beyond any recipe; or the mark
            of decimals is none.
    """
    if options.decimal not in (None, ".", ","):
        message = f"--decimal '{options.decimal[:20]}' is no decimal mark"
        raise InputError(Finding("option", message, fix="it is '.' or ','"))
    if not 0 < options.bytes_per_parameter <= 100:
        message = (
            f"--bytes-per-parameter {options.bytes_per_parameter:g} must lie between 0 and 100"
        )
        raise InputError(Finding("option", message, fix="14 is what mixed precision with Adam has"))
