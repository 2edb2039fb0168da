"""Several jobs, sites and periods in one plan: who runs where on what, and what is bought when.

`schema` is the problem file and the plan, `inputs` reads it into an instance; `purchases`,
`model` and `periods` are the integer program, `search` solves it, `plan` takes its solution,
`check` recomputes a plan, `views` shows it, `analysis` explains and sweeps.
docs/portfolio.md has the mathematics.
"""
