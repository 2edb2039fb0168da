"""`planner explore PROBLEM`: a page of sliders in a browser; each move solves the problem again.

`server` answers the page's requests; `explorer` is what a job and a portfolio share; `problems`
solves them and fills the page.
"""
