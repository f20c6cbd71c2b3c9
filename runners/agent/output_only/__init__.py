"""The problem type `output-only@1`: participants send answers, in a ZIP, and nothing of theirs is run (runner-agent §2).

A package is one of `standard-io@1` without limits of runs and without an interactor: `config.yml` with `type`, `groups`
and perhaps `checker` and `limits {outputBytes}`; `tests/<group><letters>.in|.out`.

A submission's language is `zip`. Its archive holds `1a.out` (or `1a`) for the test `1a`; one outer folder does not
matter. A test without an answer is `Wrong answer`, an answer larger than allowed `Output limit exceeded`, and an archive
that cannot be read `Compilation error`: nothing can be taken from it. The checker is called as in `standard-io@1`.
"""

TYPE = "output-only@1"
LANGUAGE = "zip"
