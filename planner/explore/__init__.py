"""`planner explore PROBLEM`: a page of sliders in a browser; each move solves the problem again.

`server` answers the page's requests; `explorer` is what a job and a portfolio share; `single` and
`portfolio` make their sliders, solve, and fill the page.
"""
