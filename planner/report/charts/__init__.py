"""Charts: one specification (``model``), drawn panel by panel (``panel``) as PNG or SVG
(``picture``); ``telemetry`` has the chart of a trace, the views of studies have their own."""
