"""What formulas share: guards against impossible quantities, and defaults with their evidence."""

import math
from typing import NamedTuple


def require_positive(**quantities: float) -> None:
    """Reject every quantity that is not a finite number above zero.

    Args:
        **quantities: values by the name the caller's user knows them by.

    Raises:
        ValueError: a quantity is zero, negative, infinite or not a number.
    """
    for name, value in quantities.items():
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be positive and finite, got {value!r}")


def require_non_negative(**quantities: float) -> None:
    """Reject every quantity that is not a finite number of at least zero.

    Args:
        **quantities: values by the name the caller's user knows them by.

    Raises:
        ValueError: a quantity is negative, infinite or not a number.
    """
    for name, value in quantities.items():
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be finite and not negative, got {value!r}")


def require_share(**shares: float) -> None:
    """Reject every share that lies outside (0, 1].

    Args:
        **shares: dimensionless values by the name the caller's user knows them by.

    Raises:
        ValueError: a share is zero, negative, above one or not a number.
    """
    for name, value in shares.items():
        if not 0 < value <= 1:
            raise ValueError(f"{name} must be above 0 and at most 1, got {value!r}")


class Preset(NamedTuple):
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
