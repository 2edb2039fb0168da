"""Files that grow while they are made, and are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from planner.errors import Finding, InputError


@contextlib.contextmanager
def whole(targets: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield a temporary file beside each target; put all in place where all went well.

    Raises:
        InputError: a file cannot be written, or the disk is full; former files then stay.
    """
    made: list[Path] = []
    place = targets[0].parent
    try:
        for target in targets:
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir():
                place = target
                raise IsADirectoryError(errno.EISDIR, "there is a folder of this name")
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
            os.close(handle)
            made.append(Path(name))
        yield made
        for temporary, target in zip(made, targets, strict=True):
            temporary.chmod(0o644)
            temporary.replace(target)
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        fix = "free some space, or choose another folder with -o"
        raise InputError(
            Finding("unwritable", f"cannot write: {said}", str(place), fix=fix)
        ) from None
    finally:
        for temporary in made:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
