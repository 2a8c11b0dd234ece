"""Send the summary to a webhook that takes `{"text": ...}`, as those of Slack and Mattermost do."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from hil.errors import RigError

TIMEOUT_S = 10.0


def payload(lines: Sequence[str]) -> dict[str, str]:
    """Return the message: the first line, then the others as a block of code, where a chat interprets nothing.

    `&`, `<` and `>` are escaped as Slack asks: it would read `<!channel>` as a call to everybody, in a block of code
    too.
    """
    head, *rest = (line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for line in lines)
    block = "\n".join(rest).replace("`", "'")
    return {"text": f"{head}\n```\n{block}\n```" if rest else head}


def post(url: str, message: dict[str, str]) -> str:
    """Send the message; return why it was not accepted, empty if it was.

    The reason names the host only, because the address of a webhook is a secret.

    Raises:
        RigError: the address is none of http or https.
    """
    host = _host(url)
    request = urllib.request.Request(url, json.dumps(message).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT_S):
            return ""
    except urllib.error.HTTPError as error:
        return f"the webhook at {host} answered {error.code}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"the webhook at {host} did not take the message ({_why(error)})"


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        raise RigError("--webhook is no address that begins with http:// or https://: give that of the chat's webhook.")
    return host


def _why(error: Exception) -> str:
    """Return the reason of the system. The message of another error may quote the address."""
    reason = getattr(error, "reason", error)  # urllib wraps what the system reports
    if isinstance(reason, TimeoutError):
        return f"no answer within {TIMEOUT_S:g} s"
    return (isinstance(reason, OSError) and reason.strerror) or type(reason).__name__


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Reports a redirect as an error: followed, it would become a request without the message."""

    def redirect_request(self, *_: Any) -> None:
        """Do not follow."""
