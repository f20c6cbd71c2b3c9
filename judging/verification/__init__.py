"""A problem version judged against the submissions in its package. The verbs, in life order:

begin       the package's submissions are kept, each with its promise; nothing is sent in yet
            then every sweep sends some in, as jury jobs, and compares what was judged: judging.queue.verify
cancel      nothing more is sent in, and what is open is ended

preview     what a verification would send in
progress    how far it is, submission by submission; tallies: of many, in numbers
settled_lanes   the lanes of those that are over: for whoever removes old jobs
"""

from judging.verification.begin import NothingPromised, PackageUnfit, Preview, VerificationBusy, Wanted, begin, preview
from judging.verification.progress import Progress, Tally, progress, tallies
from judging.verification.settle import NotToBeCancelled, cancel, settled_lanes

__all__ = [
    "NotToBeCancelled",
    "NothingPromised",
    "PackageUnfit",
    "Preview",
    "Progress",
    "Tally",
    "VerificationBusy",
    "Wanted",
    "begin",
    "cancel",
    "preview",
    "progress",
    "settled_lanes",
    "tallies",
]
