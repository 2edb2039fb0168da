"""Pictures of sensitivity studies, and a report of them in one HTML file.

A chart is described once (``model``), built from a study's record (``build``), and drawn twice: as
PNG or SVG (``picture``) and in a browser (``plotly_panel``, ``html``).
"""
