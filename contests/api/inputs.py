"""The JSON bodies that come in. NUL and lone surrogates are refused by the fields themselves."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request

from judging.models import Maintenance

REASON_LENGTH = 500
LOGIN_LENGTH = 150


class Input(serializers.Serializer):
    """A body; members it does not name are ignored."""

    @classmethod
    def read(cls, request: Request) -> dict[str, object]:
        """The validated members. Raises ValidationError, which reads `malformed_request`."""
        body = cls(data=request.data)
        body.is_valid(raise_exception=True)
        members: dict[str, object] = body.validated_data
        return members


class Credentials(Input):
    """`email` is the login name, whatever its form. `otp` is the second factor of an operator who has one."""

    email = serializers.CharField(max_length=LOGIN_LENGTH, trim_whitespace=False)
    password = serializers.CharField(max_length=4096, trim_whitespace=False)
    otp = serializers.CharField(required=False, max_length=16)


class WithReason(Input):
    """An act whose reason is kept with it."""

    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=REASON_LENGTH)


class Rejudge(WithReason):
    """`urgent` puts it before everything else."""

    urgent = serializers.BooleanField(required=False, default=False)


class Tags(Input):
    """What a runner is tagged with, or which pools judge an activity."""

    tags = serializers.ListField(child=serializers.CharField(allow_blank=True))


class Level(WithReason):
    """How far the doors are to be open."""

    level = serializers.ChoiceField(choices=Maintenance.choices)


class Program(serializers.Serializer):
    """The multipart members of a submission, for the schema; `form.py` and `source.py` read them."""

    props = serializers.CharField(required=False, help_text="A JSON object, for the problem's type to read.")
    file = serializers.FileField(required=False)
    code = serializers.CharField(required=False, help_text="Pasted source, instead of a file.")
    fileName = serializers.CharField(required=False, help_text="The source's name; required with `code`.")
    sha256 = serializers.CharField(required=False, help_text="Of the source, 64 hexadecimal digits.")
