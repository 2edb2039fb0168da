"""The process: one command line, its exit code, an expected failure as one line."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer

from planner import files, removed
from planner.errors import PlannerError, StoppedError
from planner.report.formats import join_words
from planner.terminal import catch_interrupts, discard, follow, interrupt_handled, say


def run_process(application: Callable[..., Any]) -> NoReturn:
    """Run a command line and end the process with its exit code."""
    # A short process needs no thread pools, plug-ins and frequent collections.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(2_000_000, 50, 50)
    if sys.__stderr__ is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.__stdout__ is None:
        say("planner: standard output is closed; send it to a file, or to /dev/null", err=True)
        os._exit(2)
    follow()
    catch_interrupts()
    _leave(run(application))


def _leave(code: int) -> NoReturn:
    """End the process at once: taking the interpreter apart costs a tenth of a run."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            reader_left = isinstance(error, BrokenPipeError)  # as with `| head`
            code = code if reader_left else 2
    os._exit(code)


def run(application: Callable[..., Any]) -> int:
    """Run a command and return its exit code; expected failures are one line each."""
    try:
        result = application(standalone_mode=False)
        if result == StoppedError.exit_code:  # typer's word for Ctrl-C
            return _report_interruption()
        return result if isinstance(result, int) else 0
    except PlannerError as error:
        for line in str(error).splitlines():
            say(f"planner: {line}", err=True)
        return error.exit_code
    except typer.Exit as ended:
        return int(ended.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _report_interruption()
    except (BrokenPipeError, SystemExit):  # click's own end where the reader of a pipe has left
        discard()
        return 0
    except Exception as error:
        return _report_error(error)


def list_files(paths: Sequence[Path]) -> str:
    """File names as a sentence lists them; nothing in them steers the terminal."""
    return join_words(["".join(c if c.isprintable() else "?" for c in str(path)) for path in paths])


def _report_interruption() -> int:
    interrupt_handled()
    written = list_files(files.put_in_place)
    kept = f"{written} had been written" if written else "nothing was written or changed"
    say(f"planner: interrupted: {kept}", err=True)
    return StoppedError.exit_code


def _report_error(error: Exception) -> int:
    usage = getattr(error, "format_message", None)  # click's own, which typer may bring along
    if usage is not None:
        return _report_usage(error, str(usage()))
    if os.environ.get("PLANNER_DEBUG"):
        raise error
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        what = f"{place}{(error.strerror or str(error)).lower()}"
        fix = "is a disk, or the folder that TMPDIR names, full or read-only?"
    elif isinstance(error, MemoryError):
        what, fix = "out of memory", "free some, or ask for less at once"
    elif isinstance(error, RecursionError):
        what, fix = "folders or values nested too deeply", "nest fewer in one another"
    else:
        say(f"planner: internal error: {type(error).__name__}: {error}", err=True)
        say("planner: set PLANNER_DEBUG=1 for the traceback, and please report it", err=True)
        return 1
    say(f"planner: {what}; {fix} [system]", err=True)
    return 2


def _report_usage(error: Exception, text: str) -> int:
    """Print an error of click in one line, or the successor of a removed command."""
    if text.startswith("Usage:"):  # no command: the whole help
        say(text, err=True)
        return 2
    text = text.replace("Value error, ", "").rstrip(".").replace("\n", " ")
    # An option without its value has no context.
    path = getattr(getattr(error, "ctx", None), "command_path", "planner COMMAND")
    name = re.match(r"No such (?:command '|option: )([\w -]*[\w-])", text)
    known = removed.COMMANDS | removed.OPTIONS
    command = path.removeprefix("planner").strip()
    now = name and (known.get(f"{command} {name[1]}") or known.get(name[1]))
    text = re.split(r"\.? Did you mean| \(Possible", text)[0] if now else text
    fix = f"it is now {now}" if now else f"see {path} --help"
    say(f"planner: {text}; {fix} [usage]", err=True)
    return 2
