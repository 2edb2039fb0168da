"""What a problem asks of its storage, without solving it: sizes, intervals, rules, appliances."""

from planner.sizing_report.build import size_report
from planner.sizing_report.model import SizeReport

__all__ = ["SizeReport", "size_report"]
