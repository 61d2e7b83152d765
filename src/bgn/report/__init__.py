"""One HTML file that tells the whole story of a model, and cards for notebooks."""

from bgn.report.notebook import card, picture
from bgn.report.write import write_report

__all__ = ["card", "picture", "write_report"]
