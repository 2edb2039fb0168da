"""What to say of a file that cannot be read."""

from __future__ import annotations

from pathlib import Path

from planner.errors import Finding, InputError


def unreadable(path: Path, error: Exception) -> InputError:
    """Return what to say of a file that cannot be read at all."""
    if isinstance(error, FileNotFoundError):
        return InputError(Finding("file", "no such file", str(path)))
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    if isinstance(error, MemoryError):
        reason = "it asks for more memory than there is"
    message = f"cannot be read: {str(reason or type(error).__name__)[:160].lower()}"
    fix = "give a CSV, Excel, JSON, Parquet or HDF5 file"
    return InputError(Finding("trace", message, str(path), fix=fix))
