"""Downloads of what was sent in and of what runners left, for those who may read sources."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import FileResponse, Http404, HttpRequest, StreamingHttpResponse

from judging.admin.collecting import MOST_SUBMISSIONS, zipped
from judging.admin.content import saved
from judging.admin.listed import listed
from judging.admin.pages import FoundById
from judging.admin.timeline import is_uuid
from judging.models import Attachment, SubmissionFile

READ_SOURCE = "judging.view_submissionfile"
AFTER = "after"


class Downloads(FoundById):
    """The part of the submissions' pages that answers files."""

    def get_custom_urls(self) -> Any:
        """One file, one attachment, everything that is listed."""
        return (
            ("sources.zip", "judging_submission_sources", self.download_listed),
            ("<uuid:submission>/file/<uuid:file>/", "judging_submission_file", self.download),
            ("<uuid:submission>/attachment/<uuid:file>/", "judging_submission_attachment", self.download_attachment),
        )

    def download(self, request: HttpRequest, submission: UUID, file: UUID, **kwargs: Any) -> FileResponse:
        """One file of a submission, whole."""
        self._may_read(request, submission)
        item = SubmissionFile.objects.filter(submission=submission, file=file).select_related("file").first()
        if item is None:
            raise Http404
        return saved(item.file, name=item.file_name)

    def download_attachment(self, request: HttpRequest, submission: UUID, file: UUID, **kwargs: Any) -> FileResponse:
        """One file that a runner left on an attempt."""
        self._may_read(request, submission)
        item = Attachment.objects.filter(delivery__job__submission=submission, file=file).select_related("file").first()
        if item is None:
            raise Http404
        return saved(item.file, name=item.name)

    def download_listed(self, request: HttpRequest, **kwargs: Any) -> StreamingHttpResponse:
        """The sources of what the list shows under the filters of this address, newest first, older than `after` if it is named.

        An archive that does not hold all of them says so, and where the others are.
        """
        self._must_read_sources(request)
        asked = request.GET.copy()
        after = asked.pop(AFTER, [""])[-1]
        request.GET = cast("Any", asked)
        found = listed(self, request).order_by("-created_at", "-id")
        ids = list(older_than(found, after).values_list("id", flat=True)[: MOST_SUBMISSIONS + 1])
        if len(ids) <= MOST_SUBMISSIONS:
            return zipped(ids)
        asked[AFTER] = str(ids[MOST_SUBMISSIONS - 1])
        return zipped(ids[:MOST_SUBMISSIONS], rest=request.build_absolute_uri(f"{request.path}?{asked.urlencode()}"))

    def _must_read_sources(self, request: HttpRequest) -> None:
        if not (self.has_view_permission(request) and request.user.has_perm(READ_SOURCE)):
            raise PermissionDenied

    def _may_read(self, request: HttpRequest, submission: UUID) -> None:
        """Raises PermissionDenied, or Http404 for what this account's own list would not show."""
        self._must_read_sources(request)
        if self.get_object(request, str(submission)) is None:
            raise Http404


def older_than(submissions: QuerySet[Any], after: str) -> QuerySet[Any]:
    """Those behind this one in the order of the list; all when none is named, none when it is not there."""
    if not after:
        return submissions
    last = submissions.filter(id=after).first() if is_uuid(after) else None
    if last is None:
        return submissions.none()
    return submissions.filter(Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, id__lt=last.id))
