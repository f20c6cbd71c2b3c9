"""The operators' pages about judging. Importing this registers them."""

from judging.admin import jobs, lanes, ledger, library, maintenance, rejudgings, runners, submissions, verifications

__all__ = ["jobs", "lanes", "ledger", "library", "maintenance", "rejudgings", "runners", "submissions", "verifications"]
