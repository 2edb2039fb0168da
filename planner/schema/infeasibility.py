"""Why there is no plan: limits that cannot hold together, and changes that would help."""

from planner.schema.base import InItsUnit, Record

UNDECIDED = "not decided, as it takes too long"
_MOST_NAMED = 3
"""Changes named in one line; the screen has them all."""


class Named(Record):
    """A limit, demand or choice of the problem.

    ``text`` is its value as the file has it, empty for a choice; ``source`` the file and line.
    ``stated`` is False for a default.
    """

    path: str
    label: str
    text: str
    source: str | None
    stated: bool

    @property
    def in_words(self) -> str:
        """The limit in words, with its place."""
        value = f" {self.text}" if self.text else ""
        place = self.source if self.stated else "the default"
        return f"{self.label}{value}" + (f" ({place})" if place else "")


class Conflict(Record):
    """Limits that cannot hold together, while any all but one of them can."""

    limits: tuple[Named, ...]


class Step(Record):
    """One changed value: old and new, as in the file.

    ``least`` is proven to be enough and ``not_enough`` not to be, with everything else as the
    change has it; both in ``unit``, None for a choice. ``what`` is the text of a choice.
    ``settings`` are for ``--set``. ``because`` names, for the first changes, what asks for no
    less: with ``not_enough`` these cannot hold.
    """

    path: str
    label: str
    source: str | None
    unit: str
    value: InItsUnit | None
    least: InItsUnit | None
    not_enough: InItsUnit | None
    from_text: str
    to_text: str
    not_enough_text: str
    what: str
    settings: tuple[str, ...]
    because: tuple[Named, ...] = ()

    @property
    def in_words(self) -> str:
        """The change in words."""
        if self.value is None or self.least is None:
            return f"{self.label}: {self.what} (`{self.path}`)"
        raised = self.least > self.value
        verb = "raise" if raised else "lower"
        limit = f"; {self.not_enough_text} is not enough" if self.not_enough_text else ""
        if limit and not raised:
            limit = f"; {self.not_enough_text} is still too much"
        change = f"{verb} `{self.path}` from {self.from_text} to {self.to_text}"
        return f"{self.label}: {change}{limit}"


class Combined(Record):
    """Several changes that help together.

    ``weighted`` is the sum of the changes as shares of the limits, each times its weight; no
    change of these limits has a smaller sum than ``bound``, None where that is not proven.
    """

    steps: tuple[Step, ...]
    weighted: float | None
    bound: float | None


class Infeasibility(Record):
    """Why there is no plan.

    ``reasons`` are those that no limit can help. Giving up one limit of each of the ``conflicts``
    leaves a plan (the last one named does, unless there are very many). ``changes``
    are single ones that each make a plan possible; ``combined`` is there where none of them does,
    or where a smaller change of several does. ``undecided`` names limits for which time ran out.
    """

    reasons: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    changes: tuple[Step, ...] = ()
    combined: Combined | None = None
    undecided: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The explanation as one line."""
        parts = list(self.reasons) or ["no plan meets every limit"]
        for conflict in self.conflicts:
            *names, last = (limit.in_words for limit in conflict.limits)
            if names:
                parts.append(f"{', '.join(names)} and {last} cannot hold together")
            else:
                parts.append(f"{last} cannot be met")
        if self.changes:
            more = len(self.changes) - _MOST_NAMED
            changes = ", or ".join(_short(step) for step in self.changes[:_MOST_NAMED])
            rest = f" ({more} more ways)" if more > 0 else ""
            parts.append(f"there is a plan if you {changes}{rest}")
        elif self.combined is not None:
            changes = " and ".join(_short(step) for step in self.combined.steps)
            parts.append(f"there is a plan if you {changes}")
        if self.undecided:
            parts.append(f"{UNDECIDED}: {', '.join(self.undecided)}")
        return "; ".join(parts)


def _short(step: Step) -> str:
    return step.in_words.removeprefix(f"{step.label}: ").split("; ")[0]
