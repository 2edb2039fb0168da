"""Charts: one specification (``model``), drawn as PNG or SVG (``picture``)."""
