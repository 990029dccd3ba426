"""Mail, by the server that the installation has."""

from __future__ import annotations

import smtplib
from email.mime.image import MIMEImage
from email.utils import formatdate
from html import escape
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives
from django.core.validators import validate_email

from advisor.notifications.channels.channel import NotSent, Place
from advisor.notifications.chart import HEIGHT_PX, WIDTH_PX, Course, chart_png
from advisor.notifications.message import Message

MOST_ADDRESSES = 20
CHART = "chart@sluice"


class Mail:
    """The address is one mail address, or several with commas between them."""

    def problem(self, address: str) -> str:
        if not settings.HAS_MAIL:
            return "this installation sends no mail; SLUICE_MAIL_URL names a server"
        addresses = _addresses(address)
        if not 1 <= len(addresses) <= MOST_ADDRESSES:
            return f"name 1 to {MOST_ADDRESSES} mail addresses"
        for one in addresses:
            try:
                validate_email(one)
            except ValidationError:
                return f'"{one[:100]}" is no mail address'
        return ""

    def send(self, place: Place, message: Message, key: UUID) -> None:
        if not settings.HAS_MAIL:
            raise NotSent("this installation sends no mail", is_permanent=True)
        letter = EmailMultiAlternatives(
            subject=" ".join(f"[Sluice] {message.subject}".split()),
            body=message.text,
            to=_addresses(place.address),
            # Who gets it twice, because an answer was lost, sees one.
            headers={"Message-ID": f"<{key}@sluice>", "Date": formatdate(localtime=True)},
        )
        own = place.letter
        letter.attach_alternative(own.html if own else _html(message), "text/html")
        if own and own.file:
            letter.attach(own.file_name, own.file, "application/pdf")
        if message.course is not None:
            letter.attach(_picture(message.course))
        try:
            letter.send()
        except smtplib.SMTPRecipientsRefused as error:
            codes = [code for code, _ in error.recipients.values()]
            raise NotSent(
                f"the mail server refuses: {_said(error)}",
                is_permanent=all(code >= 500 for code in codes),
            ) from error
        except smtplib.SMTPResponseException as error:
            raise NotSent(
                f"the mail server answers {error.smtp_code}: {_said(error)}",
                is_permanent=error.smtp_code >= 500,
            ) from error
        except (smtplib.SMTPException, OSError) as error:
            raise NotSent(f"the mail server cannot be reached: {_said(error)}") from error


def _addresses(address: str) -> list[str]:
    return [one.strip() for one in address.split(",") if one.strip()]


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _picture(course: Course) -> MIMEImage:
    """The chart, which the letter shows in its place."""
    made = MIMEImage(chart_png(course), "png")
    made.add_header("Content-ID", f"<{CHART}>")
    made.add_header("Content-Disposition", "inline", filename="chart.png")
    return made


def _html(message: Message) -> str:
    """Plain enough for every reader; names of workloads are text, whatever is in them."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in message.lines)
    course = message.course
    picture = ""
    if course is not None:
        picture = (
            f'<p><img src="cid:{CHART}" width="{WIDTH_PX}" height="{HEIGHT_PX}" '
            f'alt="{escape(course.bars)}"><br>{escape(course.words)}</p>'
        )
    links = " &middot; ".join(
        f'<a href="{escape(link.url)}">{escape(link.words)}</a>' for link in message.links
    )
    return (
        f'<html lang="en"><body><h2>{escape(message.subject)}</h2>{lines}{picture}<p>{links}</p>'
        "</body></html>"
    )
