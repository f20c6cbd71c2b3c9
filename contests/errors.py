"""Refusals of the contest itself; the queue's own are in judging.errors."""

from __future__ import annotations

from http import HTTPStatus

from judging.errors import NotFound, Refusal, Unprocessable


class ProblemUnknown(NotFound):
    """There is no such problem in this activity, or it cannot be judged yet."""


class NotEnrolled(Refusal):
    """You do not take part in this activity."""

    code = "activity.notEnrolled"
    status = HTTPStatus.FORBIDDEN


class EnrolmentClosed(Refusal):
    """This activity takes nobody in by itself; ask its organisers."""

    code = "activity.enrolmentClosed"
    status = HTTPStatus.FORBIDDEN


class ActivityClosed(Refusal):
    """This is not open for submissions now."""

    code = "activity.closed"


class RoomTaken(Refusal):
    """Some of this is reserved or in use already."""

    code = "room.taken"


class ResultsOpen(Refusal):
    """Something of this is still to be judged."""

    code = "results.open"


class RosterMoved(Refusal):
    """Somebody else made one of these accounts at this moment. Nothing was kept: look at the lines again."""

    code = "roster.moved"


class ResultsMoved(Refusal):
    """These results changed since they were shown: look at them again."""

    code = "results.moved"


class ResultsUnproved(Refusal):
    """No audit that found everything equal has seen the last judgement."""

    code = "results.unproved"


class FileName(Unprocessable):
    """A source cannot be called that."""

    code = "submission.fileName"


class CrossSite(Refusal):
    """Another site's page may not do this in your name."""

    code = "request.crossSite"
    status = HTTPStatus.FORBIDDEN
