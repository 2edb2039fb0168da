"""An exhaustive, independent answer to small problems, and random problems to ask it about."""
