"""Useful work and the storage bought for three power feeds."""

import planner

for power in ("3 MW", "6 MW", "9 MW"):
    plan = planner.solve(planner.example("10MW"), settings={"site.facility_power": power})
    storage = [line for line in plan.lines if line.category == "storage"]
    bought = ", ".join(f"{line.quantity} x {line.model}" for line in storage)
    print(f"{power}: {plan.objective.value:,.0f} {plan.objective.unit} with {bought}")
