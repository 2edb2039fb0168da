"""The bill as JSON: stable key order; what is not known is null."""

from __future__ import annotations

from typing import Any

from planner.schema.bill import MONEY_OF_LINES, MONEY_OF_TOTALS, Bill

_EXCLUDED: dict[str, Any] = {
    "currency": True,
    "lines": {"__all__": dict.fromkeys(MONEY_OF_LINES, True)},
    "totals": {
        "sections": {"__all__": dict.fromkeys(MONEY_OF_TOTALS, True)},
        "grand": dict.fromkeys(MONEY_OF_TOTALS, True),
    },
}
"""What the customer's edition does not have."""


def to_bytes(bill: Bill) -> bytes:
    """Return the bill as indented UTF-8 JSON with a final newline.

    Texts are as the catalogs have them, without control characters and without what turns text
    round (see `planner.outputs.text_safety`); the customer's edition has no keys of money.
    """
    excluded = _EXCLUDED if bill.audience == "customer" else None
    return (bill.model_dump_json(indent=2, exclude=excluded) + "\n").encode()
