"""Expected failures: one family, one line each, no traceback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One finding on the input: place, cause, fix."""

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    path: str | None = None
    fix: str | None = None
    severity: Severity = "error"

    def text(self) -> str:
        """The finding as one line: ``file:line: path: message; fix [code]``."""
        place = "" if self.file is None else clip(self.file, 300)
        if self.line is not None:
            place += f":{self.line}"
        parts = [part for part in (place, self.path) if part]
        line = ": ".join([*parts, self.message])
        if self.fix:
            line += f"; {self.fix}"
        return "".join(c if c.isprintable() else " " for c in f"{line} [{self.code}]")


def clip(text: str, most: int = 60) -> str:
    """A text short enough for a message."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def describe(value: object) -> str:
    """A value of a file as a message names it; texts in quotes."""
    if isinstance(value, (dict, list, tuple)):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return "nothing" if value is None else str(value).lower()
    return f"'{clip(value, 40)}'" if isinstance(value, str) else clip(str(value), 40)


def did_you_mean(word: str, known: Sequence[str]) -> str | None:
    """A hint that names the known words nearest to ``word``, or that contain it, or None."""
    from difflib import get_close_matches

    inside = [each for each in known if len(word) > 2 and word.casefold() in each.casefold()]
    matches = get_close_matches(word, known, n=2, cutoff=0.6) or inside[:2]
    quoted = " or ".join(f"'{match}'" for match in matches)
    return f"did you mean {quoted}?" if matches else None


def suggest(word: str, known: Sequence[str], otherwise: str = "expected one of") -> str:
    """A hint at the known words nearest to ``word``, or at all of them."""
    return did_you_mean(word, known) or f"{otherwise}: {', '.join(known) or 'none'}"


MOST_FINDINGS = 20
"""Maximum findings printed."""


def unprinted_count(findings: Sequence[Finding]) -> list[str]:
    """The line with the number of findings not printed, if any."""
    left = len(findings) - MOST_FINDINGS
    return [f"and {left:,} more [more]"] if left > 0 else []


class FixableError(ValueError):
    """Invalid value; ``fix`` is the remedy."""

    def __init__(self, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.fix = fix


class PlannerError(Exception):
    """Base of every failure that planner expects; ``exit_code`` is the process's."""

    exit_code = 1

    def __reduce__(self) -> tuple[object, ...]:
        """Arguments for pickling between processes."""
        return _unpickled, (type(self), self.args), self.__dict__


def _unpickled(kind: type[PlannerError], args: tuple[object, ...]) -> PlannerError:
    return kind.__new__(kind, *args)


class InputError(PlannerError):
    """The problem, a catalog, a price book or the command line is wrong (exit code 2)."""

    exit_code = 2

    def __init__(self, findings: Sequence[Finding] | Finding) -> None:
        self.findings = (findings,) if isinstance(findings, Finding) else tuple(findings)
        lines = [finding.text() for finding in self.findings[:MOST_FINDINGS]]
        super().__init__("\n".join([*lines, *unprinted_count(self.findings)]))

    def placed(self, **place: Any) -> InputError:
        """The same findings with other fields of their place: file, line, path."""
        return InputError([replace(finding, **place) for finding in self.findings])


class NoSystemError(InputError):
    """A job of a portfolio can run on no GPU system within its limits."""


class NoPlanError(PlannerError):
    """A study has no feasible plan (exit code 3)."""

    exit_code = 3


class VerificationError(PlannerError):
    """A plan disagrees with the independent re-computation; it must not be handed out."""

    def __init__(self, disagreements: Sequence[str]) -> None:
        self.disagreements = tuple(disagreements)
        super().__init__("the plan failed verification: " + "; ".join(disagreements))


class StoppedError(PlannerError):
    """Interrupted by the user (exit code 130); ``record`` holds the results until then."""

    exit_code = 130

    def __init__(self, message: str, record: object = None) -> None:
        super().__init__(message)
        self.record = record


class SolverError(PlannerError):
    """The solver ended without an answer about the problem."""
