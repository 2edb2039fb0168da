"""Functions behind the commands; `planner/cli.py` has their options."""
