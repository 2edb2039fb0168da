"""One file per output; each reads a Plan only, and none knows another."""
