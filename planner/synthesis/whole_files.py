"""Files that grow while they are made, and are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from planner.errors import Finding, InputError


@contextlib.contextmanager
def whole(targets: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield where to write instead of each target; put all in place where all went well.

    Raises:
        InputError: a file cannot be written, or the disk is full; former files then stay.
    """
    instead = [path.with_name(f".{path.name}.{os.getpid()}") for path in targets]
    try:
        for target in targets:
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "there is a folder of this name", target)
        yield instead
        for made, target in zip(instead, targets, strict=True):
            made.replace(target)
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        fix = "free some space, or choose another folder with -o"
        place = str(error.filename or targets[0].parent)
        raise InputError(Finding("unwritable", f"cannot write: {said}", place, fix=fix)) from None
    finally:
        for made in instead:
            with contextlib.suppress(OSError):
                made.unlink(missing_ok=True)
