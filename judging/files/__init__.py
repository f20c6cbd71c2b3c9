"""Content, kept once per SHA-256 however many rows refer to it (runner-protocol §9).

store       a stream becomes a row; the bytes are shared
open_file   the bytes of a row
readable_by what a runner may read now
collect_unattached   what nobody came to refer to goes

drafts      content on its way in
blobs       content where it lies
access      who may read
collecting  what goes
forms       multipart bodies, their files straight into drafts
"""

from judging.files.access import readable_by
from judging.files.blobs import blob_name, open_file
from judging.files.collecting import collect_unattached
from judging.files.drafts import Draft, clean_name, storage_works, store
from judging.files.forms import Form, SentFile, form_of

__all__ = [
    "Draft",
    "Form",
    "SentFile",
    "blob_name",
    "clean_name",
    "collect_unattached",
    "form_of",
    "open_file",
    "readable_by",
    "storage_works",
    "store",
]
