"""A plan's job run event by event; nothing here knows the formulas of ``planner.sizing``."""
