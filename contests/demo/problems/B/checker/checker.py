"""Judges one way of paying: `checker input output answer`; the answer is the fewest coins there can be.

Exit codes: 0 for a best choice, 7 with `points 0.5` for a valid longer one, 1 for anything else, 3 when the jury's own
answer is not the best.
"""  # noqa: INP001 - a program of the package, not of the server

import sys
from pathlib import Path

BEST, WRONG, JURY_WRONG, PARTLY = 0, 1, 3, 7


def judge(task: str, output: str, answer: str) -> int:
    """The exit code for this output."""
    amount, _, *coins = map(int, task.split())
    try:
        count, *paid = map(int, output.split())
    except ValueError:
        return WRONG
    if len(paid) != count or sum(paid) != amount or not set(paid) <= set(coins):
        return WRONG
    if count < int(answer):
        return JURY_WRONG
    return BEST if count == int(answer) else PARTLY


if __name__ == "__main__":
    code = judge(*(Path(name).read_text(errors="replace") for name in sys.argv[1:4]))
    if code == PARTLY:
        sys.stderr.write("points 0.5\n")
    sys.exit(code)
