"""One HTML file that tells the whole story of a model, and cards for notebooks."""

from bgn.report.page import write_report
from bgn.report.svg import card, picture

__all__ = ["card", "picture", "write_report"]
