"""Outputs are whole or not at all, and nothing but a plain file is ever replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.files import remove, whole, write_all
from tests.world.commands import ran


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


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
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


def test_links_in_a_circle_pipes_and_devices_are_refused(tmp_path: Path, small: str) -> None:
    (tmp_path / "a").symlink_to("a")
    assert "symbolic links" in refused(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    assert "not a file" in refused(tmp_path / "pipe")
    done = ran("solve", small, "-o", str(tmp_path / "out"), "--save-model", "/dev/stdout")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "/dev/stdout: cannot write: a device or a stream" in done.err


def test_failure_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"2")
    with pytest.raises(ZeroDivisionError), whole((plain, tmp_path / "a" / "b")) as (one, _):
        one.write_bytes(b"3")
        raise ZeroDivisionError
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"plain": b"2"}


def test_only_plain_files_of_an_earlier_run_are_removed(tmp_path: Path) -> None:
    plain, link, pipe, folder = (tmp_path / name for name in ("plain", "link", "pipe", "folder"))
    plain.write_bytes(b"")
    link.symlink_to("folder")
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (plain, link, pipe, folder, tmp_path / "none"):
        remove(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link", "pipe"]
