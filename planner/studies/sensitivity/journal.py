"""Rows of a running sweep on disk, so that its memory does not grow with its scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from planner.errors import Finding, InputError
from planner.outputs import sweep_files
from planner.studies.sensitivity.scenarios import Row


class Journal:
    """The finished pieces of one sweep, in a temporary folder that goes with it."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="planner-")

    def put(self, number: int, rows: Sequence[Row]) -> None:
        """Keep the rows of a piece.

        Raises:
            InputError: they cannot be written.
        """
        try:
            sweep_files.save(self._path(number), rows)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            fix = "free some space, or let TMPDIR name another folder"
            finding = Finding("unwritable", f"cannot write: {why}", self._folder.name, fix=fix)
            raise InputError(finding) from None

    def values(self, number: int) -> dict[str, list[Any]]:
        """Return the rows of a finished piece, by column."""
        return sweep_files.columns_of(self._path(number))

    def columns(self, number: int) -> list[str]:
        """Return the names of the columns of a finished piece."""
        return sweep_files.names(self._path(number))

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    def _path(self, number: int) -> Path:
        return Path(self._folder.name, f"{number:08d}.parquet")
