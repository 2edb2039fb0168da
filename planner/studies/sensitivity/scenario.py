"""A scenario: a problem with some of its values replaced, and what is known of it afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.inputs import Change

Row = dict[str, Any]
"""A row of the table: column name to number, text or None."""


@dataclass(frozen=True)
class Scenario:
    """One scenario of a study, by its place among all of them.

    ``changes`` replace values of the problem, of catalogs (``catalog.ITEM.GROUP.FIGURE``) or of
    prices (``prices.ITEM.list``). ``refused`` tells why the scenario cannot be asked at all; it is
    then a row with status "invalid" and this reason. ``base`` names the scenario of the problem
    file that is changed, empty for the problem as it stands.
    """

    index: int
    changes: tuple[Change, ...]
    name: str = ""
    refused: str = ""
    base: str = ""


COUNT_PREFIX = "units."
