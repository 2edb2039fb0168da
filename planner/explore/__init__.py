"""`planner explore PROBLEM`: a page of sliders in a browser; each move solves the problem again.

`server` answers the page's requests; `explorer` is common to a job and a portfolio; `problems`
solves them and fills the page.
"""
