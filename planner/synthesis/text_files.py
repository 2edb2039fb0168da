"""The job log and the record of the truth, written a cluster at a time."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from planner.schema.synthesis import ClusterTruth, Truth
from planner.synthesis.job_log import Told
from planner.synthesis.quality import Quality


class LogFile:
    """A job log as CSV; ``named`` ones tell clusters apart."""

    def __init__(self, path: Path, quality: Quality, named: bool) -> None:
        self._start, self._named = quality.start, named
        self._stream = path.open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._stream, lineterminator="\n")
        self._rows.writerow(("time", *(("cluster",) if named else ()), "job", "event"))

    def write(self, cluster: str, events: Iterable[Told]) -> None:
        """Add what happened on a cluster."""
        name = (cluster,) if self._named else ()
        self._rows.writerows((self._time(at), *name, job, event) for at, job, event in events)

    def _time(self, at_s: float) -> str:
        when = self._start + timedelta(milliseconds=round(1000 * at_s))
        return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def close(self) -> None:
        """Write what ends the file."""
        self._stream.close()


class TruthFile:
    """The record of the truth as JSON, a cluster a line, so that not all must be held at once."""

    def __init__(self, path: Path, truth: Truth) -> None:
        head = truth.model_copy(update={"clusters": ()}).model_dump_json()
        self._stream = path.open("w", encoding="utf-8")
        self._stream.write(head.removesuffix("]}"))
        self._before = "\n"

    def write(self, cluster: ClusterTruth) -> None:
        """Add a cluster."""
        self._stream.write(self._before + cluster.model_dump_json())
        self._before = ",\n"

    def close(self) -> None:
        """Write what ends the file."""
        self._stream.write("\n]}\n")
        self._stream.close()
