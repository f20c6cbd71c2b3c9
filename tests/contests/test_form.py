"""A multipart body taken apart: contests/api/form.py."""

import pytest

from contests.api.form import Part, Unreadable, boundary_of, parts
from tests.contests.conftest import multipart


def taken_apart(*fields):
    return parts(multipart(*fields)["data"], b"b0undary")


def test_every_byte_of_a_part_is_kept():
    content = bytes(range(256)) + b"\r\n--b0undar\r\n\r\n--\r\n"

    assert taken_apart(("file", content, "a.c")) == [Part("file", "a.c", content)]


def test_parts_keep_their_order_and_a_plain_field_has_no_file_name():
    assert taken_apart(("a", "1", None), ("b", "", "x"), ("a", "2", None)) == [
        Part("a", None, b"1"),
        Part("b", "x", b""),
        Part("a", None, b"2"),
    ]


def test_a_file_name_is_kept_as_it_was_sent():
    names = ["../../etc/passwd", "решение.cpp", "a b.py", "n" * 300, "C:\\x.c", "&#47;.c", "a;b=c.py"]

    assert [part.file_name for part in taken_apart(*(("file", "", name) for name in names))] == names


def test_what_stands_before_the_first_part_and_behind_the_last_is_no_part():
    body = b"preamble\r\n" + multipart(("a", "1", None))["data"] + b"--b0undary\r\nepilogue"

    assert parts(body, b"b0undary") == [Part("a", None, b"1")]


def test_blanks_behind_a_boundary_are_no_content():
    body = multipart(("a", "1", None))["data"].replace(b"--b0undary\r\n", b"--b0undary \t\r\n", 1)

    assert parts(body, b"b0undary") == [Part("a", None, b"1")]


def test_an_empty_form_has_no_parts():
    assert parts(b"--b0undary--\r\n", b"b0undary") == []


@pytest.mark.parametrize("cut", range(1, len(multipart(("a", "1", "x"))["data"]) - 3, 7))
def test_a_body_that_was_cut_off_is_unreadable(cut):
    with pytest.raises(Unreadable):
        parts(multipart(("a", "1", "x"))["data"][:cut], b"b0undary")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"Content-Type: text/plain",
        b"Content-Disposition: form-data",
        b'Content-Disposition: form-data; name="\xff"',
        b"Content-Disposition: form-data; name=" + b"n" * 20_000,
    ],
)
def test_a_part_without_a_legible_name_is_unreadable(head):
    with pytest.raises(Unreadable):
        parts(b"--b\r\n" + head + b"\r\n\r\nx\r\n--b--", b"b")


def test_too_many_parts_are_unreadable():
    with pytest.raises(Unreadable):
        taken_apart(*(("a", "1", None) for _ in range(40)))


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        ("multipart/form-data; boundary=x", b"x"),
        ('Multipart/Form-Data; charset=utf-8; boundary="x y"', b"x y"),
        ("multipart/form-data", None),
        ("multipart/form-data; boundary=", None),
        ("multipart/form-data; boundary=" + "x" * 300, None),
        ("multipart/mixed; boundary=x", None),
        ("application/json", None),
        ("", None),
    ],
)
def test_the_boundary_is_the_content_types(content_type, boundary):
    assert boundary_of(content_type) == boundary
