"""How the operators' site looks and what its side bar leads to, in the terms of django-unfold."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse

# Title, icon, route, permission.
Item = tuple[str, str, str, str]

GROUPS: tuple[tuple[str, tuple[Item, ...]], ...] = (
    (
        "Now",
        (
            ("Dashboard", "monitoring", "index", "judging.view_job"),
            ("Maintenance", "build", "judging_installation_changelist", "judging.view_installation"),
        ),
    ),
    (
        "Judging",
        (
            ("Jobs", "gavel", "judging_job_changelist", "judging.view_job"),
            ("Submissions", "upload_file", "judging_submission_changelist", "judging.view_submission"),
            ("Rejudgings", "replay", "judging_rejudging_changelist", "judging.view_rejudging"),
            ("Lanes", "alt_route", "judging_lane_changelist", "judging.view_lane"),
            ("Deliveries", "local_shipping", "judging_delivery_changelist", "judging.view_delivery"),
            ("Ledger", "receipt_long", "judging_ledgerrecord_changelist", "judging.view_ledgerrecord"),
        ),
    ),
    (
        "Machines",
        (
            ("Runners", "dns", "runners_runner_changelist", "runners.view_runner"),
            ("Pools", "workspaces", "runners_pool_changelist", "runners.view_pool"),
        ),
    ),
    (
        "Contests",
        (
            ("Activities", "emoji_events", "contests_activity_changelist", "contests.view_activity"),
            ("Rounds", "timer", "contests_round_changelist", "contests.view_round"),
            ("Assignments", "assignment", "contests_assignment_changelist", "contests.view_assignment"),
            ("Participants", "groups", "contests_participant_changelist", "contests.view_participant"),
            ("Final results", "verified", "contests_publication_changelist", "contests.view_publication"),
            ("Organizations", "apartment", "contests_organization_changelist", "contests.view_organization"),
        ),
    ),
    (
        "Library",
        (
            ("Problems", "menu_book", "judging_problem_changelist", "judging.view_problem"),
            ("Verifications", "fact_check", "judging_verification_changelist", "judging.view_verification"),
            ("Versions", "history", "judging_problemversion_changelist", "judging.view_problemversion"),
        ),
    ),
    (
        "Access",
        (
            ("Accounts", "person", "auth_user_changelist", "auth.view_user"),
            ("Roles", "badge", "auth_group_changelist", "auth.view_group"),
            ("Limited operators", "corporate_fare", "contests_operator_changelist", "contests.view_operator"),
            ("Second factors", "phonelink_lock", "otp_totp_totpdevice_changelist", "otp_totp.view_totpdevice"),
            ("Locked out", "lock_person", "axes_accessattempt_changelist", "axes.view_accessattempt"),
        ),
    ),
)


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The side bar: what this account may see, and nothing else."""
    return [
        {"title": title, "separator": title != GROUPS[0][0], "items": [_entry(item, request) for item in items]} for title, items in GROUPS
    ]


def _entry(item: Item, request: HttpRequest) -> dict[str, Any]:
    title, icon, route, permission = item
    allowed = request.user.has_perm(permission) and _is_open(route, request)
    return {"title": title, "icon": icon, "link": reverse(f"admin:{route}"), "permission": lambda request: allowed}


def _is_open(route: str, request: HttpRequest) -> bool:
    """Whether the page is for accounts like this one, which may belong to one organization."""
    pages = {f"{model._meta.app_label}_{model._meta.model_name}_changelist": page for model, page in admin.site._registry.items()}
    page: Any = pages.get(route)
    return page is None or bool(page.is_open_to(request))


def style(request: HttpRequest) -> str:
    """Our one stylesheet."""
    return static("judging/operators.css")


def script(request: HttpRequest) -> str:
    """Our one script."""
    return static("judging/operators.js")


def icon(request: HttpRequest) -> str:
    """The picture in the browser's tab."""
    return static("judging/assize.svg")


# A calm blue, in the steps of Unfold's own palette.
PRIMARY = {
    "50": "oklch(97% .014 254.604)",
    "100": "oklch(93.2% .032 255.585)",
    "200": "oklch(88.2% .059 254.128)",
    "300": "oklch(80.9% .105 251.813)",
    "400": "oklch(70.7% .165 254.624)",
    "500": "oklch(62.3% .214 259.815)",
    "600": "oklch(54.6% .245 262.881)",
    "700": "oklch(48.8% .243 264.376)",
    "800": "oklch(42.4% .199 265.638)",
    "900": "oklch(37.9% .146 265.522)",
    "950": "oklch(28.2% .091 267.935)",
}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Assize",
    "SITE_HEADER": "Assize",
    "SITE_SYMBOL": "balance",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": icon}],
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "COLORS": {"primary": PRIMARY},
    "STYLES": [style],
    "SCRIPTS": [script],
    "LOGIN": {"form": "config.login.OperatorLogin"},
    "DASHBOARD_CALLBACK": "judging.admin.dashboard.callback",
    "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": "config.look.navigation"},
}
