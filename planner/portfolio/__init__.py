"""Several jobs, sites and periods in one plan: who runs where on what, and what is bought when.

`schema` is the problem file and the plan, `inputs` reads the file into an `instance`; `purchases`,
`model` and `averaged` are the integer program, `rounds`, `sites` and `search` solve it, `plan`
takes its solution, `totals` adds up a plan by the verifier's rules, `check` verifies it, `views`
shows it. docs/portfolio.md has the mathematics.
"""
