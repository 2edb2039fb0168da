"""An input that is not known exactly: its place, and how its values become changes."""

from __future__ import annotations

from dataclasses import dataclass

from planner import units
from planner.errors import Finding
from planner.inputs import Change, Inputs
from planner.loader.vary.axis import FACTOR, Reading, Variable
from planner.loader.vary.place import number_of
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.sizing.reliability import FAILURES_PER_GPU_DAY
from planner.studies.sensitivity.uncertain.shapes import Shape

_DIGITS = 9
"""Digits of what is drawn: as many as a change can be told with."""
_PRESETS = {"per_gpu_day": FAILURES_PER_GPU_DAY, "bytes_per_parameter": BYTES_PER_PARAMETER}
"""What words stand for where a number may stand, too."""


class Field:
    """A path of the input with what its numbers may be.

    ``base`` is the number that stands there, None where none does; where the path means several
    places (``prices.*.list``) it is 1, and what is drawn are factors.
    """

    def __init__(self, inputs: Inputs, path: str) -> None:
        """Find it.

        Raises:
            NoPlaceError: the path leads nowhere.
        """
        self.variable = Variable(inputs, path)
        self.path, self.several = self.variable.path, self.variable.several
        self.slot = self.variable.first.slot
        self.base = 1.0 if self.several else _standing(inputs, self.variable)

    @property
    def numeric(self) -> bool:
        """Whether it takes numbers."""
        return self.slot.numeric

    @property
    def unit(self) -> str:
        """The unit of what is drawn; x for factors of values as they stand."""
        if self.several:
            return FACTOR
        unit = self.slot.unit
        return "share" if unit and unit.dimension is units.SHARE else self.slot.symbol

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most that it takes."""
        if self.several:
            return 0.0, units.HUGE
        if self.slot.unit is None:
            return (1.0 if self.read("0").faults else 0.0), units.HUGE
        return self.slot.unit.low, self.slot.unit.high

    def text(self, number: float) -> str:
        """Return a number as the field would have it, or as a factor."""
        if self.slot.whole and not self.several:
            return str(round(number))
        return self.variable.text_of(float(f"{number:.{_DIGITS}g}"), factors=self.several)

    def read(self, text: str) -> Reading:
        """Return what a text means here."""
        return self.variable.read(text)

    def refused(self, number: float) -> tuple[Finding, ...]:
        """Return what is wrong with a number, nothing where it may stand here."""
        return self.read(self.text(number)).faults


@dataclass(frozen=True)
class Unknown:
    """An input with its distribution, and that in words.

    Where ``choices`` are given, they are what can stand here as texts, and the distribution is that
    of their places among them.
    """

    field: Field
    shape: Shape
    words: str
    label: str
    choices: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Its path."""
        return self.field.path

    @property
    def unit(self) -> str:
        """The unit of what is drawn."""
        return "choice" if self.choices else self.field.unit

    def drawn(self, number: float) -> tuple[tuple[Change, ...], str]:
        """Return the changes that make it a number, or why that cannot be."""
        text = self.choices[round(number)] if self.choices else self.field.text(number)
        reading = self.field.read(text)
        return reading.changes, "; ".join(fault.text() for fault in reading.faults)

    def shown(self, number: float) -> float:
        """Return a number as the record has it: choices are counted from 1."""
        if self.choices:
            return number + 1.0
        return float(round(number)) if self.field.slot.whole else number


def _standing(inputs: Inputs, variable: Variable) -> float | None:
    """Return the number that stands at a place, that of a preset where a word does."""
    place = variable.first
    value = place.standing
    if value is None and place.made is not None:
        value = _value_at(inputs, place.parent)
    if isinstance(value, str):
        preset = _PRESETS.get(place.path.rpartition(".")[2], {}).get(value)
        return None if preset is None else preset.value
    return number_of(value)


def _value_at(inputs: Inputs, path: str) -> object:
    return Variable(inputs, path).first.standing
