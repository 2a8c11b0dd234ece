"""The summary of a recorded run, made from its record only, and its forms for forges, mail, chat and Allure."""

from hil.summary.summary import Summary, summary_of

__all__ = ["Summary", "summary_of"]
