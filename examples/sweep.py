"""Useful work against the budget, as a pandas table."""

import planner

budgets = ["120 MUSD", "180 MUSD", "240 MUSD"]
sweep = planner.sweep(planner.example("10MW"), vary={"budget.capex": budgets})
print(sweep.to_frame().iloc[:, :6])
