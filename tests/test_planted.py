"""The violations of tests/mutants.py keep up with the code they are planted in; whether the suite notices them takes hours."""

import pytest

from tests.mutant_texts import PROJECT, mutants

PLANTED = mutants([])


@pytest.mark.parametrize("mutant", PLANTED, ids=[mutant.rule for mutant in PLANTED])
def test_what_is_to_be_planted_has_its_place_in_the_code_of_now(mutant):
    for edit in mutant.edits:
        edit.target(PROJECT)
