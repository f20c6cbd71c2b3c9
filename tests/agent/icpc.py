"""ICPC packages for tests: small, whole, in each of the formats."""

LEGACY = "name: Sum\n"
NEW = "problem_format_version: 2025-09\nname: Sum\nuuid: 4a3a1c2e-0d9b-4a57-9d0f-2b8d7e0f6f11\nlimits: {time_limit: 1}\n"
ADD = "print(sum(map(int, input().split())))\n"
TAKES_TWO = "import sys\nsys.exit(42 if len(sys.stdin.readline().split()) == 2 else 43)\n"
WHOLE = {
    "data/sample/1.in": "1 2\n",
    "data/sample/1.ans": "3\n",
    "data/secret/1.in": "20 22\n",
    "data/secret/1.ans": "42\n",
    "data/secret/2.in": "5 5\n",
    "data/secret/2.ans": "10\n",
    "input_validators/takes.py": TAKES_TWO,
    "submissions/accepted/a.py": ADD,
}
OLD_SIDE = {"problem_statement/problem.tex": "Add.\n", ".timelimit": "1\n"}
NEW_SIDE = {"statement/problem.en.md": "Add.\n"}


def legacy(yaml=LEGACY, **files):
    """The files of a legacy package, changed; None takes one away."""
    return _changed({"problem.yaml": yaml} | WHOLE | OLD_SIDE, files)


def scoring(files, yaml="type: scoring\n"):
    """A legacy scoring package; the files by their paths, which may have more than one dot."""
    return legacy(LEGACY + yaml) | files


def new(yaml="", **files):
    """The same of 2025-09, `yaml` being added to problem.yaml."""
    return _changed({"problem.yaml": NEW + yaml} | WHOLE | NEW_SIDE, files)


def _changed(base, files):
    return {name: text for name, text in (base | files).items() if text is not None}


def written(root, files):
    """The folder of a package."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root
