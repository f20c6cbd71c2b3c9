"""The verbs of the queue, in life order. Every door calls these and nothing else changes a job.

submit      a participant's work enters, once per idempotency key
rejudge     a new attempt at a submission; a waiting sibling gives way
claim       a runner takes the head of the oldest thread it may judge, under a fresh lease
undo_handout  the answer never left: the hand-out is taken back
renew       the holder moves its deadline out, never in
progress    as renew, by the lease it was granted; a forwarding runner names its outside id
attach      the holder leaves a file on its delivery
release     the holder stops and gives the job back
report      the holder's result ends the job, or its infrastructure failure sends it back
cancel      an operator ends an open job
give_back   an operator returns a held job to the queue
prioritise  an operator moves an open job to another class
void        an operator takes a result out of the count
delete_submission, delete_work_of   what is withdrawn is judged no more, whoever holds it
approve, revoke, retag, forget   what an operator says of a runner
reroute     what an operator says of lanes: their pools, their pause
switch      maintenance and external judging
prune       finished jobs leave the tables when their time is over
sweep       what the clock says: lapsed leases end, held jobs of revoked runners come back
"""

from judging.queue.attach import attach, attach_to_runner
from judging.queue.cancel import cancel
from judging.queue.claim import ClaimedJob, Nothing, claim
from judging.queue.delete import delete_submission, delete_work_of
from judging.queue.give_back import give_back
from judging.queue.prioritise import prioritise
from judging.queue.progress import progress
from judging.queue.prune import prune
from judging.queue.reap import Swept, sweep, sweep_if_due
from judging.queue.rejudge import rejudge
from judging.queue.release import release
from judging.queue.renew import Lease, renew
from judging.queue.report import Report, Reported, report
from judging.queue.reroute import pause, reroute, resume
from judging.queue.runners import approve, forget, retag, revoke
from judging.queue.submit import NewSubmission, Receipt, SourceFile, known_key, submit
from judging.queue.switch import close_if_drained, switch_external, switch_maintenance
from judging.queue.undo import undo_handout
from judging.queue.void import void

__all__ = [
    "ClaimedJob",
    "Lease",
    "NewSubmission",
    "Nothing",
    "Receipt",
    "Report",
    "Reported",
    "SourceFile",
    "Swept",
    "approve",
    "attach",
    "attach_to_runner",
    "cancel",
    "claim",
    "close_if_drained",
    "delete_submission",
    "delete_work_of",
    "forget",
    "give_back",
    "known_key",
    "pause",
    "prioritise",
    "progress",
    "prune",
    "rejudge",
    "release",
    "renew",
    "report",
    "reroute",
    "resume",
    "retag",
    "revoke",
    "submit",
    "sweep",
    "sweep_if_due",
    "switch_external",
    "switch_maintenance",
    "undo_handout",
    "void",
]
