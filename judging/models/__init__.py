"""The tables of judging. Constraints say the rules of queue.md §2 again, for the database."""

from judging.models.installation import Installation, Maintenance
from judging.models.jobs import Attachment, Delivery, Job, Result, RunnerAttachment
from judging.models.ledger import LedgerRecord
from judging.models.library import Problem, ProblemVersion, StoredFile
from judging.models.work import Lane, Submission, SubmissionFile, Thread, Ticket

__all__ = [
    "Attachment",
    "Delivery",
    "Installation",
    "Job",
    "Lane",
    "LedgerRecord",
    "Maintenance",
    "Problem",
    "ProblemVersion",
    "Result",
    "RunnerAttachment",
    "StoredFile",
    "Submission",
    "SubmissionFile",
    "Thread",
    "Ticket",
]
