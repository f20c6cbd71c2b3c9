"""The verbs of the queue, in life order. Every door calls these and nothing else changes a job.

submit      a participant's work enters, once per idempotency key
rejudge     a new attempt at a submission; a waiting sibling gives way
claim       a runner takes the head of the oldest thread it may judge, under a fresh lease
claim_on_channel  the same on the runner channel, whose heartbeats keep the lease
undo_handout  the answer never left: the hand-out is taken back
renew       the holder moves its deadline out, never in
progress    as renew, by the lease it was granted; a forwarding runner names its outside id
attach      the holder leaves a file on its delivery
start, beat, take_up   on the channel: the run begins, goes on, goes on over another connection
lose        on the channel: connected and silent for too long
finish, fail, abandon  on the channel: how the run ended by its runner's word
process     what a finished run left becomes the result
release     the holder stops and gives the job back
report      the holder's result ends the job, or its infrastructure failure sends it back
cancel      an operator ends an open job
give_back   an operator returns a held job to the queue
prioritise  an operator moves an open job to another class
void        an operator takes a result out of the count
delete_submission, delete_work_of   what is withdrawn is judged no more, whoever holds it
add_channel_runner  an operator lets a machine judge that has no key of its own making
replace_channel_key  an operator gives a runner a key for the channel; the old one is good no more
approve, revoke, retag, forget   what an operator says of a runner
reroute     what an operator says of lanes: their pools, their pause
switch      maintenance and external judging
prune       finished jobs leave the tables when their time is over
work_off    the attempts that rejudgings of many submissions want are opened, some at a time
verify      what verifications of problem versions want is sent in, compared and ended, some at a time
sweep       what the clock says: lapsed leases end, held jobs of revoked runners come back
"""

from judging.queue.attach import attach, attach_to_runner
from judging.queue.beat import Answer, beat, start, take_up
from judging.queue.cancel import cancel
from judging.queue.channel_key import add_channel_runner, replace_channel_key
from judging.queue.claim import ClaimedJob, Nothing, claim, claim_on_channel
from judging.queue.delete import delete_submission, delete_work_of
from judging.queue.finish import abandon, fail, finish
from judging.queue.give_back import give_back
from judging.queue.lose import Silence, lose
from judging.queue.prioritise import prioritise
from judging.queue.process import process
from judging.queue.progress import progress
from judging.queue.prune import prune
from judging.queue.reap import sweep, sweep_if_due
from judging.queue.rejudge import rejudge
from judging.queue.release import release
from judging.queue.renew import Lease, renew
from judging.queue.report import Reported, report
from judging.queue.reroute import announce_work_of, pause, reroute, resume
from judging.queue.result import Report
from judging.queue.runners import approve, forget, retag, revoke
from judging.queue.submit import NewSubmission, Receipt, SourceFile, known_key, sent_before, submit
from judging.queue.swept import Swept
from judging.queue.switch import close_if_drained, switch_external, switch_maintenance
from judging.queue.undo import undo_handout
from judging.queue.verify import verify
from judging.queue.void import void
from judging.queue.work_off import work_off

__all__ = [
    "Answer",
    "ClaimedJob",
    "Lease",
    "NewSubmission",
    "Nothing",
    "Receipt",
    "Report",
    "Reported",
    "Silence",
    "SourceFile",
    "Swept",
    "abandon",
    "add_channel_runner",
    "announce_work_of",
    "approve",
    "attach",
    "attach_to_runner",
    "beat",
    "cancel",
    "claim",
    "claim_on_channel",
    "close_if_drained",
    "delete_submission",
    "delete_work_of",
    "fail",
    "finish",
    "forget",
    "give_back",
    "known_key",
    "lose",
    "pause",
    "prioritise",
    "process",
    "progress",
    "prune",
    "rejudge",
    "release",
    "renew",
    "replace_channel_key",
    "report",
    "reroute",
    "resume",
    "retag",
    "revoke",
    "sent_before",
    "start",
    "submit",
    "sweep",
    "sweep_if_due",
    "switch_external",
    "switch_maintenance",
    "take_up",
    "undo_handout",
    "verify",
    "void",
    "work_off",
]
