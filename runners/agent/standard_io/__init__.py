"""The problem type `standard-io@1`: a program reads stdin and writes stdout, test by test (runner-agent §2).

A package is a ZIP of `config.yml`, `tests/<group><letters>.in|.out`, and at most one of `checker/` and
`interactor/`.

Calling convention of a checker, in the manner of testlib:

    checker input output answer

Exit code 0 accepts, 1 and 2 refuse (`Wrong answer`), 7 accepts in part when the first line of stderr
(or of stdout) is `points F` with 0 <= F <= 1, the share of the test's points; `points 0` is a refusal.
Anything else, a crash and an exceeded limit included, is an infrastructure failure: a jury's fault is
never a participant's verdict. The first line it says is kept in the `log` attachment, never in
`details`, since such lines tend to quote the answer.

Calling convention of an interactor:

    interactor input answer

Its stdin is the submission's stdout and its stdout the submission's stdin; exit codes as above. A
missing `.out` is an empty answer for both. Who ended first decides when both sides end badly:

1. the submission: a limit it exceeded or a crash is its verdict; else the interactor's word counts. What it
   still writes goes nowhere, up to 1 MiB, so that it meets the end of its input and not a broken pipe; one
   that goes on writing is ended by SIGPIPE, and the submission left too early, `Wrong answer`;
2. the interactor: a refusal is `Wrong answer`, whatever the broken pipe then did to the submission; after
   an acceptance the submission must still end by itself, within its limits and with exit code 0.
"""

TYPE = "standard-io@1"
