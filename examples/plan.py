"""Solve a problem; print the plan and the top of its bill."""

import planner

plan = planner.solve(planner.example("10MW"), settings={"site.facility_power": "5 MW"})
print(plan)
print(plan.to_frame()[["model", "quantity", "extended_net_usd"]].head())
