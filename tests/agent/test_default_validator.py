"""The default output validator: equal to a table of cases as others judge them, and to a plain reading of the format."""

import json
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runners.agent.blob import Blob
from runners.agent.icpc.compare import validate
from runners.agent.icpc.flags import BadFlags, Flags, read_flags

TABLE = json.loads((Path(__file__).parent / "cases" / "output-comparison.json").read_text())["cases"]
WAYS = [way for way in TABLE[0] if way not in {"name", "answer", "output"}]
STRICTER = {("NUL byte in token", way) for way in WAYS} | {("hex float", way) for way in WAYS if way.startswith("float")}
"""Where the table, as run, is laxer than the specification: see its note."""


def validated(output, answer, flags):
    one, other = Blob.of(output), Blob.of(answer)
    try:
        return validate(one, other, flags)
    finally:
        one.close()
        other.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", TABLE, ids=lambda case: case["name"])
def test_the_table_of_cases(case, way):
    flags = read_flags([] if way == "default" else way.split())
    accepted = validated(case["output"].encode("latin-1"), case["answer"].encode("latin-1"), flags) is None

    assert accepted == (case[way] == "AC" and (case["name"], way) not in STRICTER)


@pytest.mark.parametrize(
    ("output", "answer", "accepted"),
    [
        ("1e", "1", False),
        ("1", "1e", False),
        ("1E", "1e", True),
        ("+1.", "1", True),
        ("1.5e+1", "15", True),
        ("-.5", "-0.5", True),
        (".", "0", False),
        ("", "0", False),
        ("0x1p3", "8", False),
        ("NaN", "nan", True),
        ("1e999", "2e999", False),
        ("1e999", "1E999", False),
        ("5", "1e999", False),
        ("1e999", "1e999", True),
        ("1_000", "1000", False),
        ("٣", "3", False),
    ],
)
def test_what_a_number_is_is_the_formats_own_grammar(output, answer, accepted):
    assert (validated(output.encode(), answer.encode(), read_flags(["float_tolerance", "1e-6"])) is None) is accepted


def test_a_tolerance_holds_to_its_last_digit_and_either_is_enough():
    absolute, relative = read_flags(["float_absolute_tolerance", "0.5"]), read_flags(["float_relative_tolerance", "0.25"])
    both = read_flags(["float_absolute_tolerance", "0.5", "float_relative_tolerance", "0.25"])

    assert [validated(said, b"8", absolute) is None for said in (b"8.5", b"7.5", b"8.5001")] == [True, True, False]
    assert [validated(said, b"-8", relative) is None for said in (b"-10", b"-6", b"-10.001")] == [True, True, False]
    assert [validated(said, b"1", both) is None for said in (b"1.5", b"1.51")] == [True, False]
    assert [validated(said, b"0", relative) is None for said in (b"0.0", b"0.0001")] == [True, False]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("case_sensitve", "no argument 'case_sensitve'"),
        ("float_tolerance", "needs a number"),
        ("float_tolerance -1", "needs a number"),
        ("float_tolerance nan", "needs a number"),
        ("float_tolerance 1e999", "needs a number"),
        ("float_tolerance 1 float_tolerance 1", "said twice"),
        ("float_tolerance 1 float_relative_tolerance 1", "beside another"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(words, said):
    with pytest.raises(BadFlags, match=said):
        read_flags(words.split())


def test_the_difference_is_named_and_not_what_was_expected():
    assert str(validated(b"a  b", b"a b", Flags(space_change_sensitive=True))) == "token 2 has other whitespace before it"
    assert str(validated(b"a b\n\n", b"a b\n", Flags(space_change_sensitive=True))) == "token 3 has other whitespace before it"
    assert str(validated(b"1 2.5", b"1 2", Flags(absolute=0.1))) == "token 2 is wrong"
    assert str(validated(b"1", b"1 2", Flags(absolute=0.1))) == "token 2 is missing"
    assert str(validated(b"1 2 3", b"1 2", Flags(absolute=0.1))) == "token 3 is one too many"


NUMBER = re.compile(r"[+-]?([0-9]*\.[0-9]+|[0-9]+\.|[0-9]+)([Ee][+-]?[0-9]+)?")
SPACES = " \t\n\v\f\r"


def plainly(output: str, answer: str, flags: Flags) -> bool:
    """The specification, read aloud, with everything in memory. Texts are Latin-1: a character a byte."""

    def split(text):
        tokens = [token for token in re.split(f"[{SPACES}]+", text) if token]
        return tokens, re.split(f"[^{SPACES}]+", text)

    (said, said_spaces), (wanted, wanted_spaces) = split(output), split(answer)
    if len(said) != len(wanted) or (flags.space_change_sensitive and said_spaces != wanted_spaces):
        return False

    def lower(text):
        return "".join(chr(ord(letter) + 32) if "A" <= letter <= "Z" else letter for letter in text)

    def same(one, other):
        if one == other:
            return True
        if flags.floats and NUMBER.fullmatch(other):
            if not NUMBER.fullmatch(one):
                return False
            s, a = float(one), float(other)
            if abs(s) == float("inf") or abs(a) == float("inf"):
                return False
            return (flags.absolute is not None and abs(s - a) <= flags.absolute) or (
                flags.relative is not None and abs(s - a) <= flags.relative * abs(a)
            )
        return one == other if flags.case_sensitive else lower(one) == lower(other)

    return all(same(one, other) for one, other in zip(said, wanted, strict=True))


SPELLED = (
    "a A ab aB 1 1.0 1.000001 1e0 1E 0x1 -0 0 00 1e9 1e-7 nan NaN inf .5 0.5 5. é É \0 a\0 1e400 99999999999999999999 99999999999999999998"
)
WORDS = st.sampled_from(SPELLED.split(" "))
GAPS = st.sampled_from([" ", " ", "\n", "\r\n", "  ", "\t", "\v", "\f", "\xa0", ""])
TEXTS = st.lists(st.tuples(WORDS, GAPS), max_size=6).map(lambda parts: "".join(word + gap for word, gap in parts))
FLAGS = st.builds(
    Flags,
    case_sensitive=st.booleans(),
    space_change_sensitive=st.booleans(),
    absolute=st.none() | st.sampled_from([0.0, 1e-6, 0.1]),
    relative=st.none() | st.sampled_from([0.0, 1e-6, 0.1]),
)


@given(TEXTS, TEXTS, FLAGS)
@example("1 a", "1.0 A", Flags(absolute=0.0))
@example("a ", "a", Flags(space_change_sensitive=True))
def test_it_judges_as_a_plain_reading_of_the_format_does(output, answer, flags):
    assert (validated(output.encode("latin-1"), answer.encode("latin-1"), flags) is None) == plainly(output, answer, flags)


@given(TEXTS, FLAGS, st.data())
def test_it_judges_near_misses_as_a_plain_reading_does(answer, flags, data):
    """Two texts drawn apart seldom agree for long: here one is the other with a letter changed."""
    place = data.draw(st.integers(0, len(answer)))
    output = answer[:place] + data.draw(st.sampled_from(["", " ", "0", "A", "e", "."])) + answer[place + data.draw(st.integers(0, 1)) :]

    assert (validated(output.encode("latin-1"), answer.encode("latin-1"), flags) is None) == plainly(output, answer, flags)


@pytest.mark.parametrize(
    ("flags", "accepted"),
    [
        (Flags(), [True, False, True]),
        (Flags(case_sensitive=True), [True, False, False]),
        (Flags(space_change_sensitive=True), [False, False, True]),
        (Flags(absolute=1.0), [True, False, True]),
    ],
    ids=str,
)
def test_runs_of_many_megabytes_are_compared_but_never_held_whole(flags, accepted):
    long, gap = b"7" * (8 << 20), b" " * (1 << 20)
    cases = [(long + gap + b"1\n", long + gap + b"1 "), (b"8" + long + b"8", b"8" + long + b"7"), (b"A" + long + b" ", b"a" + long + b" ")]
    blobs = [(Blob.of(output), Blob.of(answer)) for output, answer in cases]
    del long, gap, cases
    tracemalloc.start()
    results = [validate(output, answer, flags) is None for output, answer in blobs]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    for pair in blobs:
        for blob in pair:
            blob.close()

    assert results == accepted
    assert peak < 8 << 20
