"""Pictures of sensitivity studies, and a report of them in one HTML file.

A chart is described once (``model``), built from a study's record (``build``), and drawn once,
panel by panel (``panel``): as PNG or SVG (``picture``) and, with places for the pointer, in a page
(``inline``, ``html``).
"""
