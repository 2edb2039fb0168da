"""Input and output records: pydantic models, unknown keys forbidden.

No module here imports `annotations` from the future: pydantic would compile each at every start.
"""
