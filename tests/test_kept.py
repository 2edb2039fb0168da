"""Catalogs and prices that are kept from one process to the next: the same, or read anew."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner import loader, shipped
from planner.errors import InputError
from planner.inputs import Inputs
from planner.loader import kept, market
from planner.loader.catalog_checks import catalog_figures
from planner.schema.catalog import Figure, _kinds
from planner.studies.sensitivity.uncertain.distributions import Field
from tests.test_cli import process

PROBLEMS = sorted(shipped.problem_files().values())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to keep things in, and nothing kept in this process."""
    monkeypatch.setenv(kept.FOLDER, str(tmp_path / "kept"))
    monkeypatch.setattr(loader, "_kept", {})
    return tmp_path / "kept"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a problem with a catalog and prices of its own, which include shipped ones."""
    shutil.copytree(PROBLEMS[0].parent, tmp_path / "problems")
    source = shipped.catalog_files()["storage_vast"]
    (tmp_path / "problems" / "mine.yaml").write_text(source.read_text("utf-8"), "utf-8")
    text = shipped.problem_files()["10MW"].read_text("utf-8")
    path = tmp_path / "problems" / "own.yaml"
    path.write_text(re.sub(r"(?m)^(catalogs: .*)storage_vast", r"\1mine.yaml", text), "utf-8")
    assert "mine.yaml" in path.read_text("utf-8")
    return path


def again(path: Path) -> Inputs:
    """Load as another process would, in which nothing is known."""
    loader._kept.clear()
    return loader.load(path)


def reads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return what will be told of each time that catalogs are read."""
    seen: list[object] = []
    really = market.load_catalogs

    def load(files: list[Path]) -> market.Catalogs:
        seen.append(files)
        return really(files)

    monkeypatch.setattr(market, "load_catalogs", load)
    return seen


def one(folder: Path) -> Path:
    """Return the only file that is kept."""
    (file,) = folder.iterdir()
    return file


@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: path.stem)
def test_what_is_kept_is_what_was_read(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kept.FOLDER, "")
    plain = again(path)
    assert not folder.exists()
    monkeypatch.setenv(kept.FOLDER, str(folder))
    first, seen = again(path), reads(monkeypatch)
    second = again(path)
    assert not seen  # it came from the folder
    assert plain == first == second
    assert plain.sha256 == second.sha256 and plain.warnings == second.warnings
    for before, after in zip(plain.items, second.items, strict=True):
        assert before.model_fields_set == after.model_fields_set
        assert type(before.provides) is type(after.provides)
    assert repr(plain) == repr(second)


def test_a_figure_that_was_kept_is_still_one_of_its_unit(folder: Path) -> None:
    """The draw of a system was a length from the second command on, and nobody could vary it."""
    path = shipped.problem_files()["10MW"]
    before = [figure for item in again(path).items for figure in catalog_figures(item)]
    after = [figure for item in again(path).items for figure in catalog_figures(item)]
    assert list(folder.iterdir())
    assert [type(figure) for _, figure in before] == [type(figure) for _, figure in after]
    draw = Field(again(path), "catalog.nvidia_dgx_b200.consumes.it_power")
    assert (draw.unit, draw.text(draw.base or 0.0)) == ("kW", "14.3 kW")


def test_no_two_kinds_of_figure_go_by_one_name() -> None:
    made = {each for of in Figure.__subclasses__() for each in (of, *of.__subclasses__())}
    assert len(made) > 10 and set(_kinds().values()) == made


def test_other_bytes_other_rates_another_folder_and_other_code_are_read_anew(
    folder: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = again(own)
    seen = reads(monkeypatch)
    mine = own.parent / "mine.yaml"
    text = mine.read_text("utf-8")
    mine.write_text(text.replace("rack_units: {value: ", "rack_units: {value: 1"), "utf-8")
    os.utime(mine, (0, 0))
    changed = again(own)
    assert len(seen) == 1 and changed.items != before.items and changed.sha256 != before.sha256
    assert again(own) == changed and len(seen) == 1
    mine.write_text(text, "utf-8")
    assert again(own).items == before.items and len(seen) == 2

    monkeypatch.chdir(own.parent)  # places are told from there
    again(own)
    assert len(seen) == 3
    rates = "exchange: {EUR: {usd: 1.1, on: 2026-11-01, source: own}}\n"
    own.write_text(rates + own.read_text("utf-8"), "utf-8")
    again(own)
    assert len(seen) == 4
    monkeypatch.setattr(kept, "_code", lambda: ("another",))
    again(own)
    assert len(seen) == 5


def test_a_catalog_that_became_faulty_is_told_with_its_line(folder: Path, own: Path) -> None:
    again(own)
    mine = own.parent / "mine.yaml"
    text = mine.read_text("utf-8")
    mine.write_text(text + "\nsurplus: 1\n", "utf-8")
    with pytest.raises(InputError) as told:
        again(own)
    assert [(f.line, f.path) for f in told.value.findings] == [(text.count("\n") + 2, "surplus")]
    mine.unlink()
    with pytest.raises(InputError, match=r"no such catalog: .*mine\.yaml"):
        again(own)


def spoil(file: Path) -> Iterator[bytes]:
    """Yield what may be found instead of what was kept."""
    data = file.read_bytes()
    yield b""
    yield data[: len(data) // 2]
    yield data[:-1]
    middle = len(data) // 2
    yield data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    for value in (None, {"items": ()}, Path("x")):
        yield sealed(pickle.dumps(value))


def sealed(data: bytes) -> bytes:
    """Return bytes as they are kept."""
    return hashlib.sha256(data).digest() + data


def test_what_is_damaged_is_read_anew_and_replaced(
    folder: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = again(own)
    seen = reads(monkeypatch)
    file = one(folder)
    for number, data in enumerate(spoil(file), 1):
        file.write_bytes(data)
        assert again(own) == right
        assert len(seen) == number
        assert again(own) == right and len(seen) == number


class _Harm:
    """Does something when it is read."""

    def __init__(self, *does: Any) -> None:
        self.does = does

    def __reduce__(self) -> Any:
        return self.does[0], self.does[1:]


@pytest.mark.parametrize("does", [(os.mkdir,), (getattr,), (eval,), (shutil.rmtree,)])
def test_nothing_but_catalogs_and_prices_is_made_of_what_is_kept(
    folder: Path, tmp_path: Path, does: tuple[Any, ...]
) -> None:
    target = tmp_path / "made"
    given: tuple[Any, ...] = (str(target),)
    if does[0] is getattr:
        given = (os, "sep")
        data = b"c__builtin__\ngetattr\n(cplanner.loader\nPath\nV__name__\ntR."
    else:
        given = (f"__import__('os').mkdir({str(target)!r})",) if does[0] is eval else given
        if does[0] is shutil.rmtree:
            target.mkdir()
        data = pickle.dumps(_Harm(*does, *given))
    folder.mkdir(mode=0o700)
    (folder / "x.offered").write_bytes(sealed(data))
    (folder / "x.offered").chmod(0o600)
    assert kept.load_kept("x.offered", object) is None
    assert target.exists() == (does[0] is shutil.rmtree)


def test_functions_of_the_modules_whose_classes_are_made_are_not_called(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    for call in (b"cplanner.loader\nload\n", b"cplanner.loader.market\nhashlib.sha256\n"):
        (folder / "x.offered").write_bytes(sealed(call + b"."))
        (folder / "x.offered").chmod(0o600)
        assert kept.load_kept("x.offered", object) is None


def test_what_others_may_write_is_not_trusted(
    folder: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = again(own)
    seen = reads(monkeypatch)
    file = one(folder)
    assert folder.stat().st_mode & 0o777 == 0o700 and file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o620)
    assert again(own) == right and len(seen) == 1
    assert file.stat().st_mode & 0o777 == 0o600  # another one now
    folder.chmod(0o702)
    assert again(own) == right and len(seen) == 2
    folder.chmod(0o700)
    elsewhere = folder.parent / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert again(own) == right and len(seen) == 3 and not file.is_symlink()
    folder.rename(elsewhere.with_name("moved"))
    folder.symlink_to(elsewhere.with_name("moved"))
    assert again(own) == right and len(seen) == 4
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert kept.load_kept(file.name, object) is None
    monkeypatch.delattr(os, "geteuid")  # as where files have no owners
    assert kept.load_kept(file.name, object) is None
    assert again(own) == right


def test_a_folder_that_cannot_be_written_changes_nothing(
    folder: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kept.FOLDER, "/proc/none/kept")
    right = again(own)
    monkeypatch.setenv(kept.FOLDER, str(own))  # a file
    assert again(own) == right
    monkeypatch.setenv(kept.FOLDER, str(folder))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert again(own) == right and not list(folder.iterdir())


def test_where_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(kept.FOLDER, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert kept._folder() == tmp_path / ".cache" / "planner"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert kept._folder() == tmp_path / ".cache" / "planner"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert kept._folder() == tmp_path / "xdg" / "planner"
    monkeypatch.setenv(kept.FOLDER, str(tmp_path / "own"))
    assert kept._folder() == tmp_path / "own"


def test_the_oldest_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    for number in range(6):
        kept.keep(f"{number}.offered", number)
        os.utime(folder / f"{number}.offered", (number, number))
    assert sorted(file.name for file in folder.iterdir()) == ["3.offered", "4.offered", "5.offered"]
    monkeypatch.setattr(kept, "MOST_BYTES", 100)
    kept.keep("large.offered", "x" * 200)
    assert not (folder / "large.offered").exists()


def test_a_cold_and_a_warm_process_say_and_write_the_same(folder: Path, tmp_path: Path) -> None:
    environment = {**os.environ, kept.FOLDER: str(folder)}
    told = []
    for name in ("cold", "warm"):
        (tmp_path / name).mkdir()
        source = shipped.problem_files()["enterprise_1MW"]
        (tmp_path / name / "p.yaml").write_bytes(source.read_bytes())
        here = tmp_path / "here"
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(tmp_path / name, here)
        done = process("solve", "p.yaml", folder=here, environment=environment)
        assert done.returncode == 0
        files = {file.name: file.read_bytes() for file in here.iterdir()}
        told.append((done.stdout, done.stderr, files))
        one(folder)
    assert told[0] == told[1]
