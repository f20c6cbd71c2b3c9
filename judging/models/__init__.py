"""The tables of judging. Constraints say the rules of queue.md §2 again, for the database."""

from judging.models.installation import Installation, Maintenance
from judging.models.jobs import Attachment, Delivery, Job, Result, RunnerAttachment
from judging.models.ledger import Audit, AuditResult, AuditScope, FeedEpoch, LedgerRecord, ThreadSeal
from judging.models.library import Adapter, Problem, ProblemVersion, StoredFile
from judging.models.outcomes import Outcome, OutcomeKind
from judging.models.rejudging import ItemState, Rejudging, RejudgingItem, RejudgingState
from judging.models.verifying import PromiseState, Verification, VerificationFile, VerificationItem, VerificationState
from judging.models.work import Lane, Submission, SubmissionFile, Thread, Ticket

__all__ = [
    "Adapter",
    "Attachment",
    "Audit",
    "AuditResult",
    "AuditScope",
    "Delivery",
    "FeedEpoch",
    "Installation",
    "ItemState",
    "Job",
    "Lane",
    "LedgerRecord",
    "Maintenance",
    "Outcome",
    "OutcomeKind",
    "Problem",
    "ProblemVersion",
    "PromiseState",
    "Rejudging",
    "RejudgingItem",
    "RejudgingState",
    "Result",
    "RunnerAttachment",
    "StoredFile",
    "Submission",
    "SubmissionFile",
    "Thread",
    "ThreadSeal",
    "Ticket",
    "Verification",
    "VerificationFile",
    "VerificationItem",
    "VerificationState",
]
