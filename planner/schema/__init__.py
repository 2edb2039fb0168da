"""What users write and what planner writes back: pydantic models, unknown keys forbidden."""
