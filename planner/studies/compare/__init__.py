"""Plans side by side, and the same problem with its storage sized and chosen in other ways."""
