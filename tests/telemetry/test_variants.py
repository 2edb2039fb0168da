"""One trace in the ways in which people write traces: read alike, or refused with the fix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planner.errors import InputError
from planner.telemetry import traces
from planner.telemetry.signal import series
from planner.telemetry.traces import Raw, ReadOptions
from tests.telemetry.variants import (
    HOSTS,
    NAMED,
    OPTIONS,
    READ,
    REFUSED,
    RIGHT,
    TIME,
    WRITE,
    Variant,
    by_host,
    by_time,
    wide,
)  # fmt: skip


def only(path: Path, variant: Variant) -> Raw:
    content = variant.content
    path = path / f"hall.{variant.ending}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (raw,) = traces.read_traces(path, variant.options)
    return raw


@pytest.mark.parametrize("variant", RIGHT, ids=lambda variant: variant.name)
def test_read_alike(tmp_path: Path, variant: Variant) -> None:
    raw = only(tmp_path, variant)
    assert raw.is_rate and raw.dated
    np.testing.assert_array_equal(raw.time_s, TIME)
    np.testing.assert_allclose(raw.write, WRITE, rtol=1e-6)
    assert raw.read is not None
    np.testing.assert_allclose(raw.read, READ, rtol=1e-6)


@pytest.mark.parametrize(("variant", "match"), REFUSED, ids=lambda each: getattr(each, "name", ""))
def test_refused_in_words_that_name_the_fix(tmp_path: Path, variant: Variant, match: str) -> None:
    with pytest.raises(InputError, match=match) as refused:
        only(tmp_path, variant)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("order", ["time", "host"])
def test_rows_of_hosts_are_told_by_their_times(tmp_path: Path, order: str) -> None:
    """Without a name that gives them away they are known by repeating times."""
    rows = by_host(("time", "part", *NAMED[1:])).splitlines()
    if order == "time":
        rows[1:] = sorted(rows[1:])
    raw = only(tmp_path, Variant("hosts", "\n".join(rows)))
    with pytest.raises(InputError, match=r"rows of several hosts\? .*--cluster COLUMN.*--sum"):
        series(raw, OPTIONS)
    parts = list(traces.read_traces(tmp_path / "hall.csv", ReadOptions(cluster="part")))
    assert [raw.cluster for raw in parts] == ["a", "b", "c", "d"]
    np.testing.assert_allclose(sum(raw.write for raw in parts), WRITE, rtol=1e-6)


def test_a_sum_is_not_known_where_a_part_is_missing(tmp_path: Path) -> None:
    rows = by_time().splitlines()
    del rows[10]
    raw = only(tmp_path, Variant("hosts", "\n".join(rows), options=ReadOptions(sum=True)))
    assert np.flatnonzero(np.isnan(raw.write)).tolist() == [2]
    columns = wide().replace(f"{0.25 * HOSTS[1]}", "", 1)
    raw = only(tmp_path, Variant("columns", columns, options=ReadOptions(sum=True)))
    assert np.flatnonzero(np.isnan(raw.write)).tolist() == [3]
