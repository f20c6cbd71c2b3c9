"""Answers guesses: `interactor input answer`; the input is the number to be found.

Says `<` when it is smaller than the guess, `>` when it is larger, `=` when it is found. Exit code 0 when it was found
in time, 1 otherwise.
"""  # noqa: INP001 - a program of the package, not of the server

import sys
from pathlib import Path

QUESTIONS = 20
LINE = 100


def answer(secret: int, line: str) -> str:
    """What is said to one line; empty when it is no guess."""
    try:
        guess = int(line)
    except ValueError:
        return ""
    if guess == secret:
        return "="
    return "<" if secret < guess else ">"


def converse(secret: int) -> int:
    """The exit code of one conversation."""
    for _ in range(QUESTIONS):
        said = answer(secret, sys.stdin.readline(LINE))
        if not said:
            return 1
        sys.stdout.write(f"{said}\n")
        sys.stdout.flush()
        if said == "=":
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(converse(int(Path(sys.argv[1]).read_text())))
