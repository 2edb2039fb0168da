"""Studies of a problem beyond its best plan: why this one, why not another, near alternatives."""
