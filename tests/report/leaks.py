"""A workbook as openpyxl reads it."""

from __future__ import annotations

import io

from openpyxl.workbook import Workbook

from planner.untrusted_files import load_bytes


def opened(content: bytes, *, data_only: bool = False) -> Workbook:
    """Return a workbook; what openpyxl does not know of it is dropped without a word."""
    return load_bytes(io.BytesIO(content), shown=data_only)
