"""Outputs: each reads a plan, and nothing else, and writes one kind of document."""
