"""Purchase, GPUs in use and checkpoint interval decided together, to a proven gap."""
