"""The operators' pieces of HTML, for templates."""

from __future__ import annotations

from django import template

from judging import marks

register = template.Library()

for piece in (marks.badge, marks.state_badge, marks.moment, marks.span, marks.countdown, marks.code, marks.short, marks.link, marks.pools):
    register.simple_tag(piece)
register.simple_tag(marks.fingerprint)
register.simple_tag(marks.need)
register.filter("spoken", marks.spoken)
register.filter("page_of", marks.page_of)
