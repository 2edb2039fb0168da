"""The first screen of a result: the answer in a few lines, a short table, what to know of it.

It fits one page of a terminal. What a result says in full is its view; `--notes`, `--proof` and
`--full` tell the rest, by the same words in every command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from planner.outputs.blocks import Block, fitting, printable, screen
from planner.outputs.words import wrapped
from planner.terminal import width

PARTS = ("notes", "proof", "full")
"""What may follow a first screen, by the option that asks for it."""

MOST_NOTES = 5
_MOST_NOTE_LINES = 2


@dataclass(frozen=True)
class FirstScreen:
    """What one page of a terminal says of a result.

    Attributes:
        title: what the result is of.
        answer: each line of it, with the word that it begins with; empty texts are left out.
        below: what stands under them: points, a table cut to what fits.
        notes: what to know, what matters most first.
        proof: how exactly it is known.
        full: what ``--full`` tells besides, in words; empty where that is nothing.
        entire: whether the whole text is short enough to be the first screen itself.
    """

    title: str = ""
    answer: tuple[tuple[str, str], ...] = ()
    below: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()
    full: str = ""
    entire: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The words that its lines begin with."""
        return (*(label for label, text in self.answer if text), "Notes", "Proof", "More")


def render(found: FirstScreen, parts: Collection[str], whole: Callable[[], str]) -> str:
    """Return a first screen, and after it what was asked for.

    Args:
        found: the first screen.
        parts: what else to tell, of ``PARTS``.
        whole: returns the text of the whole result, which ``full`` adds.
    """
    if found.entire:
        return whole()
    indent = max(len(label) for label in found.labels) + 2
    lines = wrapped(found.title, "", "")
    answer = [
        line for label, text in found.answer if text for line in labelled(label, text, indent)
    ]
    lines += ["", *answer] if answer else []
    if "full" in parts:
        rest = whole().removeprefix("\n".join(wrapped(found.title, "", ""))).strip("\n")
        return printable("\n".join([*lines, "", rest]) + "\n")
    below = screen(map(fitting, found.below)).strip("\n")
    lines += ["", *below.split("\n"), ""] if below else []
    lines += noted(found.notes, every="notes" in parts)
    if "proof" in parts:
        lines += _points("Proof", found.proof)
    lines += labelled("More", _more(found, parts), indent)
    return printable("\n".join(lines) + "\n")


def labelled(label: str, text: str, indent: int) -> list[str]:
    """Return a line of an answer: its word and its text beside it; nothing without a text."""
    return wrapped(text, f"{label:<{indent}}", " " * indent) if text else []


def noted(texts: Sequence[str], *, every: bool = False) -> list[str]:
    """Return notes under their title: all of them in full, or the first ones, two lines each."""
    if every:
        return _points("Notes", texts)
    lines = ["Notes"] if texts else []
    for text in texts[:MOST_NOTES]:
        note = wrapped(text, "  - ", "    ")
        if len(note) > _MOST_NOTE_LINES:
            cut = note[_MOST_NOTE_LINES - 1][: width() - 4].rstrip(" ,;:(")
            note = [*note[: _MOST_NOTE_LINES - 1], f"{cut} ..."]
        lines += note
    return lines


def _points(title: str, texts: Sequence[str]) -> list[str]:
    lines = [line for text in texts for line in wrapped(text, "  - ", "    ")]
    return [title, *lines] if lines else []


def _more(found: FirstScreen, parts: Collection[str]) -> str:
    """Return the options that tell more, with what each tells."""
    many = len(found.notes) > MOST_NOTES
    told = {
        "full": f"--full {found.full}" if found.full else "",
        "notes": f"--notes all {len(found.notes)}" if many else "",
        "proof": "--proof" if found.proof else "",
    }
    return ", ".join(text for part, text in told.items() if text and part not in parts)
