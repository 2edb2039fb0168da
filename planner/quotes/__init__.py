"""Quotes that vendors send: read as they come, every figure with the cell it stands in."""
