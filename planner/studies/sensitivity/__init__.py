"""Many scenarios of one problem: sweeps, frontiers, tornadoes, uncertainty, on one engine."""
