"""Outputs are whole or not at all, and nothing but a plain file is ever replaced."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from planner import whole_files
from planner.errors import InputError
from planner.whole_files import remove, whole, write_all
from tests.world.commands import ran
from tests.world.traces import write_trace

START = "from planner.cli import main; main()"
NULL, FULL, LOOP = os.makedev(1, 3), os.makedev(1, 7), os.makedev(7, 0)


def device(path: Path, kind: int, number: int) -> Path:
    """Make a device of a test's own, where that is allowed; never the machine's."""
    try:
        os.mknod(path, kind | 0o600, number)
        if kind == stat.S_IFCHR:
            path.open("wb").close()
    except OSError:
        pytest.skip("no device can be made here")
    return path


def refused(path: Path, data: bytes = b"new") -> str:
    before = path.lstat()
    with pytest.raises(InputError) as caught:
        write_all({path.with_name("first"): b"first", path: data})
    assert os.path.samestat(path.lstat(), before), "it was replaced"
    assert not path.with_name("first").exists(), "half of the files were written"
    text = str(caught.value)
    assert text.startswith(f"{path}: cannot write: ") and "\n" not in text
    return text


def test_plain_files_are_replaced_and_others_stay_where_one_cannot_be(tmp_path: Path) -> None:
    there, new = tmp_path / "there", tmp_path / "deep" / "er" / "new"
    there.write_bytes(b"old")
    write_all({there: b"1", new: b"2"})
    assert (there.read_bytes(), new.read_bytes()) == (b"1", b"2")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="there is a folder of this name; remove that folder"):
        write_all({there: b"3", tmp_path / "a" / "b": b"", tmp_path / "folder": b""})
    assert there.read_bytes() == b"1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "folder", "there"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    target, missing = tmp_path / "else" / "target", tmp_path / "else" / "missing"
    target.parent.mkdir()
    target.write_bytes(b"old")
    links = [tmp_path / "one", tmp_path / "two", tmp_path / "three"]
    links[0].symlink_to("else/target")
    links[1].symlink_to("one")
    links[2].symlink_to(missing)
    write_all({links[1]: b"1", links[2]: b"2"})
    assert all(link.is_symlink() for link in links)
    assert (target.read_bytes(), missing.read_bytes()) == (b"1", b"2")
    assert sorted(path.name for path in target.parent.iterdir()) == ["missing", "target"]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "symbolic links" in refused(tmp_path / "a")


def test_a_character_device_is_written_to(tmp_path: Path) -> None:
    null = device(tmp_path / "null", stat.S_IFCHR, NULL)
    link = tmp_path / "link"
    link.symlink_to(null)
    write_all({null: b"gone", link: b"gone", tmp_path / "file": b"kept"})
    assert stat.S_ISCHR(null.lstat().st_mode) and link.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"kept"
    full = device(tmp_path / "full", stat.S_IFCHR, FULL)
    assert "no space left on device" in refused(full)


def test_disks_sockets_and_folders_are_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        place = os.open(tmp_path, os.O_RDONLY)
        try:  # by a short name: that of a socket may not be long
            server.bind(f"/proc/self/fd/{place}/socket")
        finally:
            os.close(place)
        assert "a socket has this name" in refused(tmp_path / "socket")
    assert "a disk has this name" in refused(device(tmp_path / "disk", stat.S_IFBLK, LOOP))


def test_a_pipe_is_written_to_where_somebody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, data, read = tmp_path / "pipe", os.urandom(200_000), list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_all({pipe: data, tmp_path / "file": b"kept"})
    reader.join(20)
    assert read == [data] and pipe.is_fifo()
    monkeypatch.setattr(whole_files, "READER_S", 0.1)
    assert "nobody reads from this pipe; start what reads" in refused(pipe)


def test_a_reader_that_leaves_is_told(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def leave() -> None:
        os.close(os.open(pipe, os.O_RDONLY))

    reader = threading.Thread(target=leave)
    reader.start()
    assert "broken pipe" in refused(pipe, os.urandom(1_000_000))
    reader.join(20)


def test_growing_files_go_the_same_ways(tmp_path: Path) -> None:
    pipe, plain, read = tmp_path / "pipe", tmp_path / "plain", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with whole((pipe, plain)) as (one, other):
        one.write_bytes(b"1")
        other.write_bytes(b"2")
        assert not plain.exists()
    reader.join(20)
    assert (read, plain.read_bytes()) == ([b"1"], b"2")
    with pytest.raises(ZeroDivisionError), whole((plain,)) as (one,):
        one.write_bytes(b"3")
        raise ZeroDivisionError
    assert plain.read_bytes() == b"2"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe", "plain"]


def test_an_interruption_between_two_files_takes_the_first_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, last = tmp_path / "old", tmp_path / "new", tmp_path / "last"
    old.write_bytes(b"old")
    replace = Path.replace

    def stopped(self: Path, target: Path) -> Path:
        if target == last:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_all({old: b"1", new: b"2", last: b"3"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"old": b"old"}


def test_a_disk_without_second_names_takes_files_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", none)
    test_an_interruption_between_two_files_takes_the_first_back(tmp_path, monkeypatch)


def test_what_an_earlier_run_left_is_removed_only_where_it_is_a_plain_file(tmp_path: Path) -> None:
    plain, link, pipe, folder = (tmp_path / name for name in ("plain", "link", "pipe", "folder"))
    plain.write_bytes(b"")
    link.symlink_to("folder")
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (plain, link, pipe, folder, tmp_path / "none"):
        remove(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link", "pipe"]


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no name for standard output")
def test_a_name_of_an_open_stream_is_no_plain_file(small: str, tmp_path: Path) -> None:
    """Whoever names /dev/stdout means the stream, which may lead to a file or to a pipe."""
    command = [sys.executable, "-c", START, "solve", small, "-o", str(tmp_path), "--json",
               "--save-model", "/dev/stdout"]  # fmt: skip
    with (tmp_path / "out").open("wb") as out:
        ended = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "/dev/stdout: cannot write: this name stands for a stream that is open" in ended.stderr
    assert not (tmp_path / "out").read_bytes()
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0 and "ROWS" in ended.stdout and ended.stdout.endswith("}\n")
    assert Path("/dev/stdout").is_symlink()


STUDIES = [
    ("solve", "--bill", "csv", "--bill", "json"),
    ("compare", "--rules"),
    ("sweep", "--vary", "site.pue=1.2,1.3", "--jobs", "1"),
    ("simulate", "--replications", "2", "--length", "2 days", "--no-intervals"),
]


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("command", STUDIES, ids=" ".join)
def test_no_command_replaces_what_is_no_plain_file(
    command: tuple[str, ...], small: str, tmp_path: Path
) -> None:
    """All that a command writes into an empty folder goes into devices of these names."""
    free, taken = tmp_path / "free", tmp_path / "taken"
    arguments = (command[0], small, *command[1:], "-o")
    done = ran(*arguments, str(free))
    names = [path.relative_to(free) for path in free.rglob("*")]
    assert done.code == 0 and names, done.err
    taken.mkdir()
    for name in names:
        device(taken / name, stat.S_IFCHR, NULL)
    again = ran(*arguments, str(taken))
    assert (again.code, again.out) == (0, done.out)
    assert sorted(path.relative_to(taken) for path in taken.rglob("*")) == sorted(names)
    assert all(path.is_char_device() for path in taken.rglob("*"))


@pytest.mark.exhaustive(keep=0)
def test_a_trace_and_a_report_go_into_devices(small: str, tmp_path: Path) -> None:
    made, found = tmp_path / "made", tmp_path / "found"
    assert ran("solve", small, "-o", str(made)).code == 0
    trace = str(write_trace(made / "problem.trace.csv"))
    assert ran("characterize", trace, "-o", str(found)).code == 0
    names = [path.name for path in found.iterdir()]
    page = device(tmp_path / "report.html", stat.S_IFCHR, NULL)
    (tmp_path / "taken").mkdir()
    devices = [device(tmp_path / "taken" / name, stat.S_IFCHR, NULL) for name in names]
    assert ran("characterize", trace, "-o", str(tmp_path / "taken")).code == 0
    assert ran("report", str(made / "problem.plan.json"), "--file", str(page)).code == 0
    assert all(path.is_char_device() for path in [*devices, page])


def test_a_model_goes_into_a_device_and_not_onto_a_full_one(small: str, tmp_path: Path) -> None:
    null = device(tmp_path / "null", stat.S_IFCHR, NULL)
    full = device(tmp_path / "full", stat.S_IFCHR, FULL)
    folder = str(tmp_path / "out")
    assert ran("solve", small, "-o", folder, "--save-model", str(null)).code == 0
    done = ran("solve", small, "-o", folder, "--save-model", str(full))
    assert done.code == 2 and done.err.count("\n") == 1
    assert f"{full}: cannot write: no space left on device; free some space" in done.err
    assert null.is_char_device() and full.is_char_device()
