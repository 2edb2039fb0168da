"""The sizing model: pure functions from job and equipment figures to times, rates and goodput."""
