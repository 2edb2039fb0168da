"""One trace in the ways in which people write traces: read alike, or refused with the fix."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from planner.errors import InputError
from planner.telemetry import tables
from planner.telemetry.raw import Raw, ReadOptions
from planner.telemetry.series import series
from tests.telemetry.variants import (
    HOSTS,
    NAMED,
    OPTIONS,
    PLAIN,
    READ,
    REFUSED,
    RIGHT,
    SAMPLES,
    TIME,
    WRITE,
    Variant,
    by_host,
    by_time,
    query,
    text,
    wide,
)  # fmt: skip


def only(path: Path, variant: Variant) -> Raw:
    content = variant.content
    path = path / f"hall.{variant.ending}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (raw,) = tables.read_traces(path, variant.options)
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
    parts = list(tables.read_traces(tmp_path / "hall.csv", ReadOptions(cluster="part")))
    assert [raw.cluster for raw in parts] == ["a", "b", "c", "d"]
    np.testing.assert_allclose(sum(raw.write for raw in parts), WRITE, rtol=1e-6)


def test_rows_that_are_there_twice_are_no_hosts(tmp_path: Path) -> None:
    rows = text(NAMED, PLAIN).splitlines()
    raw = only(tmp_path, Variant("twice", "\n".join([*rows, *rows[5:9], rows[5]])))
    assert series(raw, OPTIONS).repeated == 5


def test_a_clock_set_back_by_a_sample_is_none(tmp_path: Path) -> None:
    """A leap second in a long trace."""
    time = np.arange(4000) - (np.arange(4000) >= 2000)
    raw = Raw("c", "t", time + 1.7e9, np.arange(4000) % 9 + 1.0, None, True, True)
    assert series(raw, OPTIONS).repeated == 1
    with pytest.raises(InputError, match="1 of 101 rows repeat a time with other figures"):
        series(Raw("c", "t", time[1900:2001], raw.write[1900:2001], None, True, True), OPTIONS)


def test_a_sum_is_not_known_where_a_part_is_missing(tmp_path: Path) -> None:
    rows = by_time().splitlines()
    del rows[10]
    raw = only(tmp_path, Variant("hosts", "\n".join(rows), options=ReadOptions(sum=True)))
    assert np.flatnonzero(np.isnan(raw.write)).tolist() == [2]
    columns = wide().replace(f"{0.25 * HOSTS[1]}", "", 1)
    raw = only(tmp_path, Variant("columns", columns, options=ReadOptions(sum=True)))
    assert np.flatnonzero(np.isnan(raw.write)).tolist() == [3]


def test_a_counter_among_several_that_starts_again(tmp_path: Path) -> None:
    """What the sum lost is not what was written: the sample is not known."""
    moved = np.cumsum(np.outer(WRITE * 1e10, HOSTS), axis=0) + 5e15
    moved[20:, 2] -= moved[20, 2]
    columns = [np.repeat(TIME, 4), [*"abcd"] * SAMPLES, moved.ravel().astype(int)]
    content = text(["time", "ost", "write_bytes_total"], columns)
    raw = only(tmp_path, Variant("hosts", content, options=ReadOptions(sum=True)))
    found = series(raw, OPTIONS)
    assert found.read_as == "counter" and found.resets == 1
    assert np.flatnonzero(np.isnan(found.write)).tolist() == [19]
    np.testing.assert_allclose(np.delete(found.write, 19), np.delete(WRITE[1:], 19), rtol=1e-6)


@pytest.mark.parametrize("unit", ["B", "MB"])
def test_what_is_said_goes_before_a_name(tmp_path: Path, unit: str) -> None:
    """Bytes of each sample under the name of a rate."""
    content = text(["time", query("written")], PLAIN[:2])
    raw = only(tmp_path, Variant("said", content, options=ReadOptions(unit=unit)))
    assert not raw.is_rate
    np.testing.assert_allclose(raw.write, WRITE / {"B": 1e9, "MB": 1e3}[unit])


@pytest.mark.parametrize("options", [OPTIONS, ReadOptions(sum=True)])
def test_hosts_with_times_of_their_own(tmp_path: Path, options: ReadOptions) -> None:
    """No time is there twice, and still there are four rows for one."""
    rows = [["time", "host", "write_gb_per_s"]]
    for t, value in zip(TIME, WRITE, strict=True):
        rows += [[f"{t + 2.5 * n}", f"n{n}", f"{value * HOSTS[n]}"] for n in range(4)]
    variant = Variant("hosts", "\n".join(",".join(row) for row in rows), options=options)
    with pytest.raises(InputError, match=r"rows of (several|4) hosts.*--cluster"):
        only(tmp_path, variant)


def test_figures_beyond_reason_are_missing(tmp_path: Path) -> None:
    cells = [str(value) for value in WRITE]
    cells[4:8] = ["1e300", "inf", "-3", ""]
    raw = only(tmp_path, Variant("beyond", text(NAMED, [TIME, cells, READ])))
    found = series(raw, OPTIONS)
    assert found.missing == 4 and np.nanmax(found.write) == pytest.approx(WRITE.max())


def test_times_that_hardly_move(tmp_path: Path) -> None:
    raw = only(tmp_path, Variant("still", text(NAMED, [np.arange(SAMPLES) * 1e-300, WRITE, READ])))
    with pytest.raises(InputError, match="are 1e-300 s apart; write times in seconds, or name"):
        series(raw, OPTIONS)


def test_what_unpacks_without_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MOST_UNPACKED_BYTES", 1_000_000)
    packed = gzip.compress(text(NAMED, PLAIN).encode() + b"\n" * 10_000_000)
    with pytest.raises(InputError, match="unpacks to more than 1 MB; unpack it first"):
        only(tmp_path, Variant("bomb", packed, "csv.gz"))
