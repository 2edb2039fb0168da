"""What to say of a file that cannot be read."""

from __future__ import annotations

from pathlib import Path

from planner.errors import Finding, InputError


def unreadable(path: Path, error: Exception) -> InputError:
    """Return what to say of a file that cannot be read at all."""
    if isinstance(error, FileNotFoundError):
        return InputError(Finding("file", "no such file", str(path)))
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    message = f"cannot be read: {str(reason)[:160].lower()}"
    fix = "give a CSV, Parquet or HDF5 file"
    return InputError(Finding("trace", message, str(path), fix=fix))
