"""PURE: the documents the server carries and never reads: props, config, machine, extra.

Authority: seed 000 ("The three opaque documents"), runner-protocol §8 and §9.
"""

from __future__ import annotations

import json

from judging import json_text
from judging.errors import OpaqueNotAnObject, OpaqueNotJson, OpaqueTooLarge


def compact(document: object, *, most_bytes: int) -> str:
    """An opaque document as it is stored: compact UTF-8 JSON text, numbers as they were written; "" for {} and None.

    `document` is JSON text (str or bytes), or a decoded value. What UTF-8 or the database cannot hold stays an escape.
    Raises OpaqueNotJson, OpaqueNotAnObject, OpaqueTooLarge; the size is that of the compact form.
    """
    if document is None:
        return ""
    try:
        squeezed = json_text.squeezed(_text(document))
    except (ValueError, TypeError, RecursionError) as error:
        raise OpaqueNotJson(f"The document is not JSON: {error}") from None
    if not squeezed.startswith("{"):
        raise OpaqueNotAnObject
    if len(squeezed.encode()) > most_bytes:
        raise OpaqueTooLarge(f"The document is larger than {most_bytes} bytes, measured as compact UTF-8 JSON.")
    return "" if squeezed == "{}" else squeezed


def _text(document: object) -> str:
    if isinstance(document, str):
        return document
    if isinstance(document, bytes):
        return document.decode()
    return json.dumps(document, allow_nan=False)
