"""The report: one HTML file with the verdicts, the figures, a panel to play with, and where it all came from."""

from kenyon.paper.report.page import write_report

__all__ = ["write_report"]
