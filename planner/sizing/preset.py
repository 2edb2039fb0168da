"""A named default with the evidence for it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """A figure a problem may ask for by name.

    Attributes:
        name: the key used in a problem file.
        value: the figure, in the unit of the table that holds the preset.
        meaning: what the figure stands for, in one line.
        source: where the figure comes from.
    """

    name: str
    value: float
    meaning: str
    source: str
