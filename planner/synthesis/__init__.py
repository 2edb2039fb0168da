"""Storage telemetry as a simulated cluster would leave it."""
