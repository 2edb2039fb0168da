"""What a problem asks of its storage, without solving it: sizes, intervals, rules, appliances."""

from planner.sizing_report.model import SizeReport
from planner.sizing_report.report import size_report

__all__ = ["SizeReport", "size_report"]
