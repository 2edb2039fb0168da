"""Colours that stay apart for colour-blind eyes and in grey, the same in every drawing."""

from __future__ import annotations

from planner.outputs.charts.model import Tone

TONES: dict[Tone, str] = {
    "main": "#0072B2",
    "second": "#D55E00",
    "third": "#007A5A",
    "quiet": "#5F6B7A",
    "pale": "#9CCBE8",
    "bad": "#8A2B5B",
}
INK, MUTED, GRID, SHADE = "#1F2933", "#52606D", "#DDE2E8", "#ECEEF1"
CROSSES = "#C3CAD3"
HATCH, CROSSED = "/", "x"
"""Patterns, of bars and of what is not possible."""
MAP = (
    (0.0, "#00224E"), (0.25, "#414D6B"), (0.5, "#7D7C78"), (0.75, "#BCAF6F"), (1.0, "#FEE838"),
)  # fmt: skip
"""A scale whose lightness grows evenly (cividis)."""
LIGHT_FROM = 0.55
"""From which share of the scale on dark letters are read on it."""
