"""What a page says, as its reader reads it."""

import html
import re


def words(answer) -> str:
    """The text of a page, tags and entities resolved, blanks folded."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", answer.content.decode(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def told(client) -> list[str]:
    """The messages that the last act left for the next page."""
    answer = client.get("/admin/password_change/")
    return [str(message) for message in answer.context["messages"]]
