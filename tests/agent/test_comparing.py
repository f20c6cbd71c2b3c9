"""Token comparison: right, bounded in memory, silent about the answer."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.agent.blob import Blob
from runners.agent.compare import canonical, compare_tokens, first_difference


def compared(output, answer):
    one, other = Blob.of(output), Blob.of(answer)
    try:
        return compare_tokens(one, other)
    finally:
        one.close()
        other.close()


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (b"a b\n", b"a b\n"),
        (b"a b  \n\n\n", b"a b\n"),
        (b"a b\r\nc", b"a b\nc\n"),
        (b"a\nb\n", b"a b\n"),
        (b"", b""),
        (b" \t\v\f\r\n", b""),
        (b"\n\na", b"a"),
    ],
)
def test_whitespace_does_not_matter(output, answer):
    assert compared(output, answer) is None


@pytest.mark.parametrize(
    ("output", "answer", "said"),
    [
        (b"a b\n", b"a\n", "token 2 is one too many"),
        (b"", b"a\n", "token 1 is missing"),
        (b"a", b"", "token 1 is one too many"),
        (b"a b", b"a b c", "token 3 is missing"),
        (b"a x c", b"a b c", "token 2 is wrong"),
        (b"ab", b"a b", "token 1 is wrong"),
        (b"abc", b"ab", "token 1 is wrong"),
        (b"a bc", b"a b", "token 2 is wrong"),
        (b"A", b"a", "token 1 is wrong"),
        (b"007", b"7", "token 1 is wrong"),
        (b"ab\0c", b"ab", "token 1 is wrong"),
        (b"a\xc2\xa0b", b"a b", "token 1 is wrong"),
        (b"\xef\xbb\xbfa", b"a", "token 1 is wrong"),
    ],
)
def test_the_first_differing_token_is_named_but_not_what_was_expected(output, answer, said):
    assert str(compared(output, answer)) == said


PIECES = st.lists(st.binary(max_size=6).map(lambda raw: bytes(b"ab \n"[byte % 4] for byte in raw)), max_size=8)


@given(PIECES, PIECES)
def test_where_the_bytes_are_cut_makes_no_difference(one, other):
    difference = first_difference(canonical(iter(one)), canonical(iter(other)))

    tokens, expected = b"".join(one).split(), b"".join(other).split()
    assert (difference is None) == (tokens == expected)
    if difference is not None:
        agreed = next((n for n, (left, right) in enumerate(zip(tokens, expected, strict=False)) if left != right), None)
        assert difference.token == (agreed if agreed is not None else min(len(tokens), len(expected))) + 1


def test_a_token_of_many_megabytes_is_never_held_whole():
    output, answer = Blob.of(b"a" * (24 << 20) + b"b"), Blob.of(b"a" * (24 << 20) + b"c ")
    tracemalloc.start()
    difference = compare_tokens(output, answer)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    output.close()
    answer.close()

    assert difference is not None
    assert difference.token == 1
    assert peak < 12 << 20


def test_many_tokens_are_compared_across_pieces():
    output = Blob.of(b" ".join(str(n).encode() for n in range(400_000)))
    answer = Blob.of(b"\n".join(str(n if n != 399_000 else 0).encode() for n in range(400_000)))

    assert str(compare_tokens(output, answer)) == "token 399001 is wrong"
    output.close()
    answer.close()
