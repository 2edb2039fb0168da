"""What each command does, apart from its words on the command line."""

EXIT_CODES = {
    "optimal": 0, "feasible": 5, "infeasible": 3, "no_solution": 4, "unbounded": 2, "failed": 1,
}  # fmt: skip
"""By how a problem ended; wrong input ends with 2."""
