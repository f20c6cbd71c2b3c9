"""A list of participants as a table: read whole, every fault of every line told at once, and taken in whole or not at all.

Columns: login name, shown name, password (may be left out: then the account can only log in once it was given one).
Separated by commas, semicolons or tabs; a first line that names the columns is skipped.
"""

from __future__ import annotations

import csv
import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from contests.errors import RosterMoved
from contests.models import Activity, Participant
from judging.errors import NotFound

MOST_LINES = 5000
MOST_PASSWORDS = 250
"""In one table: making the hash of one takes a third of a second of a processor, while the operator waits for the page."""

HASHED_AT_ONCE = 4
LONGEST_CELL = 10_000
REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
"""What moves the text beside a name about, wherever the name is shown."""

HEADINGS = {"login", "username", "user", "login name"}
SHOWN_LENGTH = 200
UNTOLD = "joins; gets an account if there is none of this name, else keeps its own password"


@dataclass(slots=True)
class Line:
    """One line of the table. `faults` say why it cannot be taken in; `note` what taking it in will do."""

    number: int
    login: str
    name: str
    password: str = field(repr=False, default="")
    faults: list[str] = field(default_factory=list)
    note: str = "new account"


def read(text: str) -> list[Line]:
    """PURE: the lines of a table, blank ones left out, each with the faults that show without asking anybody."""
    lines = []
    for number, cells, faults in _rows(text):
        stripped = [cell.strip() for cell in cells]
        if not any(stripped) or (number == 1 and stripped[0].lower() in HEADINGS):
            continue
        login, name, password, *more = [*stripped, "", "", ""][: max(3, len(stripped))]
        # As accounts are stored, so that no two spellings of one name pass for two accounts.
        login = unicodedata.normalize("NFKC", login)
        lines.append(Line(number, login, name or login, password, [*faults, *_faults(login, name, more)]))
    _mark_repeats(lines)
    return lines


def _rows(text: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """The cells of each line with its number. A quote that is opened and not closed in its line is a fault of that line.

    Names of several lines are nobody's: read on, such a quote would swallow the lines that follow it.
    """
    separator = max(",;\t", key=text.count)
    for number, line in enumerate(text.splitlines()[: MOST_LINES + 1], start=1):
        try:
            cells = next(csv.reader([line[:LONGEST_CELL]], delimiter=separator, strict=True), [])
        except csv.Error:
            yield number, line[:SHOWN_LENGTH].split(separator)[:2], ["a quote that does not end where a column does"]
        else:
            yield number, cells, ["the line is too long"] if len(line) > LONGEST_CELL else []


def mark_of(lines: Iterable[Line]) -> str:
    """PURE: by which one table as it was judged is told from another."""
    return hashlib.sha256(repr([(each, each.password) for each in lines]).encode("utf-8", "backslashreplace")).hexdigest()


def _faults(login: str, name: str, more: list[str]) -> list[str]:
    faults = []
    if not login:
        faults.append("no login name")
    if len(name) > SHOWN_LENGTH:
        faults.append(f"the shown name has more than {SHOWN_LENGTH} characters")
    if any(more):
        faults.append("more than three columns")
    if any(unicodedata.category(character) in {"Cc", "Cs"} or character in REORDERING for character in login + name):
        faults.append("a control character")
    return faults


def _mark_repeats(lines: list[Line]) -> None:
    met = Counter(line.login for line in lines)
    for line in lines:
        if line.login and met[line.login] > 1:
            line.faults.append("this login name comes more than once")


def check(activity: UUID, lines: list[Line], *, only: UUID | None = None) -> None:
    """Add to each line the faults and notes that only the accounts and the activity know. A few queries for any number.

    `only` is the one organization that whoever asks may see: of an account that never took part there nothing is told,
    not even that there is one.
    """
    logins = [line.login for line in lines if "\x00" not in line.login]
    known = {user.username: user for user in _accounts(logins, only)}
    there = set(Participant.objects.filter(activity=activity, user__in=known.values()).values_list("user__username", flat=True))
    for line in lines:
        user = known.get(line.login)
        if user is None:
            line.faults += _faults_of_account(line)
            line.note = line.note if only is None else UNTOLD
        elif user.is_staff and only is None:
            line.faults.append("this is an operator's account")
        else:
            line.note = "takes part already" if line.login in there else "known account, joins; its password stays"
    if sum(bool(line.password) for line in lines) > MOST_PASSWORDS:
        lines[-1].faults.append(f"more than {MOST_PASSWORDS} passwords in one table: divide it")


def _accounts(logins: list[str], only: UUID | None) -> QuerySet[User]:
    """The accounts of these names, those alone that have taken part in something of this organization, if one is named."""
    found = User.objects.filter(username__in=logins)
    return found if only is None else found.filter(participations__activity__organization=only).distinct()


def _faults_of_account(line: Line) -> list[str]:
    """What Django says against a new account of this name and password."""
    if not line.login:
        return []
    account = User(username=line.login)
    faults: list[str] = []
    try:
        account.clean_fields(exclude=["password"])
    except ValidationError as error:
        faults += error.messages
    try:
        if line.password:
            validate_password(line.password, account)
    except ValidationError as error:
        faults += error.messages
    return faults


def take_in(activity: UUID, lines: list[Line], *, only: UUID | None = None) -> int:
    """Make the accounts and places that are missing, all or none; how many new places. Raises NotFound, RosterMoved.

    For `only` see `check`: there a password costs its hash whether it is used or not, so that time tells nothing either.
    """
    if not Activity.objects.filter(id=activity).exists():
        raise NotFound
    known = {user.username: user for user in User.objects.filter(username__in=[line.login for line in lines])}
    new = [line for line in lines if only is not None or line.login not in known]
    # Before the transaction, which would be held open for as long; hashing lets other threads run.
    with ThreadPoolExecutor(HASHED_AT_ONCE) as pool:
        hashed = dict(zip((line.login for line in new), pool.map(make_password, [line.password or None for line in new]), strict=True))
    try:
        with transaction.atomic():
            return sum(_place(activity, line, known.get(line.login), hashed) for line in lines)
    except IntegrityError as error:
        raise RosterMoved from error


def _place(activity: UUID, line: Line, user: User | None, hashed: dict[str, str]) -> bool:
    """One line's account and place; whether the place is new."""
    user = user or User.objects.create(username=line.login, password=hashed[line.login])
    return Participant.objects.get_or_create(activity_id=activity, user=user, defaults={"name": line.name})[1]
