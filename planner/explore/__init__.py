"""`planner explore PROBLEM`: a page of sliders; each move solves the problem again."""
