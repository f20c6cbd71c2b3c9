"""What the tests of many pages do alike: open a dialog, give its reason, and choose in a box that searches."""

import re


def asked(page, act):
    """The dialog of an act, open. Its button's icon is a word before its own."""
    page.get_by_role("link", name=re.compile(rf"(^|\s){act}$")).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("heading", level=1).wait_for()
    return dialog


def answer(dialog, button, *, reason="The jury decided so", password=""):
    """Give a dialog, or a page that asks, what it wants, and do it."""
    dialog.get_by_label("Reason").fill(reason)
    if password:
        dialog.get_by_label("Your password").fill(password)
    dialog.get_by_role("button", name=button, exact=True).click()


def look_up(page, field, text):
    """Choose the one row that a search in the box of this field finds."""
    page.locator(f".field-{field} .select2-selection").click()
    page.locator(".select2-search__field").fill(text)
    page.get_by_role("option", name=text).click()
    page.locator(f".field-{field} .select2-selection__rendered", has_text=text).wait_for()


def told(page, words):
    """Wait until the page says this."""
    page.get_by_text(words).first.wait_for()
