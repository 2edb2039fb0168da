"""The table of a sweep as files: Parquet and CSV at once, block by block, whole or not at all."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.outputs import sweep_csv, sweep_parquet
from planner.schema.sensitivity import Column
from planner.whole_files import whole


@dataclass(frozen=True)
class Counted:
    """The rows that were written, by status and by certificate, and the first of them by column."""

    statuses: Counter[str]
    proofs: Counter[str]
    first: dict[str, list[Any]]


def write(
    parquet: Path,
    csv: Path,
    columns: Sequence[Column],
    types: Mapping[str, str],
    blocks: Iterable[Sequence[Mapping[str, Any]]],
    shown: int,
) -> Counted:
    """Write a table in both forms and return what is in it.

    Args:
        parquet: where the Parquet file goes.
        csv: where the CSV file goes.
        columns: what stands in a row, in this order.
        types: what each column holds.
        blocks: rows by the names of columns, some at a time.
        shown: so many of the first rows are returned.

    Raises:
        InputError: a file cannot be written, or the disk is full; the former files then stay.
    """
    statuses: Counter[str] = Counter()
    proofs: Counter[str] = Counter()

    def counted() -> Iterator[Sequence[Mapping[str, Any]]]:
        for rows in blocks:
            statuses.update(row["status"] for row in rows)
            proofs.update(row.get("certificate") or "" for row in rows)
            yield rows

    with whole((parquet, csv)) as (one, other):
        _write(one, other, columns, types, counted())
        # Now, since from where the file goes nothing may come back: it can be a pipe.
        first = sweep_parquet.columns_of(one, shown)
    return Counted(statuses, proofs, first)


def _write(
    parquet: Path,
    csv: Path,
    columns: Sequence[Column],
    types: Mapping[str, str],
    blocks: Iterable[Sequence[Mapping[str, Any]]],
) -> None:
    schema = sweep_parquet.schema(columns, types)
    with ExitStack() as stack:
        table = stack.enter_context(closing(sweep_parquet.Writer(parquet, schema)))
        stream = stack.enter_context(csv.open("w", encoding="utf-8", newline=""))
        sweep_csv.write(columns, (), stream)
        for rows in blocks:
            table.write(rows)
            text = io.StringIO()
            sweep_csv.write(columns, rows, text)
            stream.write(text.getvalue().partition("\n")[2])
        stream.flush()
        os.fsync(stream.fileno())
