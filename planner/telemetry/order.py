"""Whether the rows of each cluster stand together in a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

MOST_CLUSTERS = 1_000
"""More names than this are those of another column."""


def unbroken(pieces: Iterable[Any]) -> bool:
    """Return whether no value of a column comes again after another one; no more are looked at
    than there can be clusters.
    """
    seen: set[str | None] = set()
    last: str | None = None
    for piece in pieces:
        for run in _runs(piece):
            if (run != last and run in seen) or len(seen) > MOST_CLUSTERS:
                return False
            seen.add(run)
            last = run
    return True


def _runs(column: Any) -> list[str | None]:
    """Return the values of a column, neighbours that are equal once."""
    codes = column.dictionary_encode()
    index = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.diff(index, prepend=index[:1] - 1))
    names = codes.dictionary.cast(pa.string()).to_pylist()
    return [names[index[start]] if index[start] >= 0 else None for start in starts]
