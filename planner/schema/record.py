"""What every result that planner writes is made of."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen part of a result; keys it does not know are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
