"""The problem type `icpc@1`: the problem package format of ICPC and Kattis itself (runner-agent §2).

Read are `legacy` (also when no version is said), `legacy-icpc` and `2025-09`; pass-fail problems, interactive and
multi-pass ones included, and legacy scoring ones with the default grader. What DOMjudge adds is understood: `domjudge-problem.ini`,
`.timelimit`, `submissions/submissions.json` and `@EXPECTED_RESULTS@:` in sources.

A fault is what would make judging impossible or wrong. What the format asks for but judging can do without is a note.

Calling convention of an output validator:

    validator input answer feedback/ [flags] < output

Exit code 42 accepts and 43 rejects. Anything else is the jury's fault and never a participant's verdict: 0 and 1,
a crash, an exceeded limit. `judgemessage.txt` goes to the `log` attachment only. Several validators, which the
legacy format allows, must all accept.

An interactive validator reads the submission's stdout and writes to its stdin. In this order:

1. a validator that failed is an infrastructure failure, whatever the submission did;
2. one that rejected before the submission ended is `Wrong answer`, whatever the submission then did;
3. a submission that broke a limit or crashed gets that verdict; a write to a validator that is gone is no crash;
4. the validator's word.

A validator is never hurt by a submission that no longer reads: it may write on, and sees the end of its input.

In a multi-pass problem a validator that accepts and leaves `nextpass.in` asks for another pass with that input. Each
pass has the whole time and memory limit, and the other files of the feedback directory stay. The validator's
`input` is what the submission was given in this pass.

In a scoring problem a test is worth what `score.txt` says, else its folder's `accept_score` or `reject_score`; folders are
graded from the inside out, and `on_reject: break` ends the judging of one. What the root accepts is `Accepted` when it
has all the points there can be, else `Partial`; the root's other verdicts are worth nothing. Scoring problems of 2025-09,
custom graders and `objective: min` are refused.
"""

TYPE = "icpc@1"
