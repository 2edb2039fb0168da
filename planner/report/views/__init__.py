"""Views: each result as blocks and charts, for screen, page and sheet."""
