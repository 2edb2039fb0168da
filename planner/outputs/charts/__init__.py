"""Pictures of studies, and a report of plans and sensitivity studies in one HTML file.

A chart is described once (``model``) by the family that it belongs to (``frontier``, ``sweep``,
``tornado``, ``uncertain``, ``simulation``, ``telemetry``), and drawn once, panel by panel
(``panel``): as PNG or SVG (``picture``) and, with places for the pointer, in a page (``html``).
``studies`` lists the families of a report: a new one is a file here and a row there.
"""
