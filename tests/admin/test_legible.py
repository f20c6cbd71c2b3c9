"""PURE: strangers' bytes as text that cannot deceive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.legible import legible


def text_of(shown):
    return "\n".join("".join(piece.text for piece in line) for line in shown.lines)


def warnings_of(shown):
    return [piece.warning for line in shown.lines for piece in line if piece.warning]


def test_plain_text_stays_as_it_is():
    shown = legible(b"int main() {\n\treturn 0;\n}\n")

    assert text_of(shown) == "int main() {\n\treturn 0;\n}"
    assert shown.notes == ()


@pytest.mark.parametrize(
    "character", ["\u202e", "\u2066", "\u200f", "\u061c", "\u200b", "\ufeff", "\u00ad", "\u2028", "\x1b", "\x00", "\x7f", "\x85"]
)
def test_what_hides_or_reorders_is_shown_in_its_place(character):
    shown = legible(f"a{character}b".encode())

    assert character not in text_of(shown)
    assert len(warnings_of(shown)) == 1
    assert text_of(shown).startswith("a")
    assert text_of(shown).endswith("b")


def test_letters_of_every_script_stay():
    text = "ñandú Привет 你好 שלום عربى e\u0301 👍"

    assert text_of(legible(text.encode())) == text


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [(b"\xef\xbb\xbfhi", "UTF-8"), (b"\xff\xfeh\x00i\x00", "UTF-16-LE"), (b"\xfe\xff\x00h\x00i", "UTF-16-BE"), (b"hi", "UTF-8")],
)
def test_a_byte_order_mark_says_the_encoding(raw, encoding):
    shown = legible(raw)

    assert (text_of(shown), shown.encoding) == ("hi", encoding)


def test_bytes_that_do_not_decode_are_replaced_and_told():
    shown = legible(b"caf\xe9")

    assert text_of(shown) == "caf\ufffd"
    assert "not valid" in shown.notes[0]


def test_a_character_split_by_the_cut_is_no_fault_of_the_author():
    shown = legible("café".encode()[:-1], whole=False)

    assert (text_of(shown), shown.notes) == ("caf", ())


def test_windows_line_ends_are_told_and_make_no_empty_lines():
    shown = legible(b"a\r\nb\r\n")

    assert (text_of(shown), shown.notes) == ("a\nb", ("Lines end in CR LF.",))


def test_a_lone_carriage_return_is_made_visible():
    assert "\u240d" in text_of(legible(b"a\rb"))


@given(st.binary(max_size=2000))
def test_nothing_that_acts_ever_comes_through(raw):
    shown = text_of(legible(raw))

    assert all(character in "\t\n" or character.isprintable() or character.isspace() or ord(character) > 0x9F for character in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\x1b\x00")
