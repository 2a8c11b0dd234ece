"""The summary of a recorded run, made from its record only, and its forms for forges, mail, chat and Allure."""

from hil.summary.summary import RunSummary, summary_of

__all__ = ["RunSummary", "summary_of"]
