"""Is this request meant for us? Against web pages that reach for a server on the reader's machine.

DNS rebinding makes a stranger's name point here: the Host header still has that name. A page of another origin says so
in Origin, or in Sec-Fetch-Site where browsers leave Origin out. Programs that are no browser send neither.
"""

import re
from collections.abc import Iterable, Mapping

from scalepan.serve.http.refused import RefusedError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ADDRESS = re.compile(r"\[([0-9a-f:.]*:[0-9a-f:.]*)\](?::\d*)?")
_STRANGE_SITES = (b"cross-site", b"same-site")


class Hosts:
    """The names that this server answers to: the machine's own, the address it is bound to, and what was allowed.

    >>> Hosts(["scalepan.example"]).check({b"host": b"scalepan.example:8000"})
    >>> Hosts().check({b"host": b"evil.example"})
    Traceback (most recent call last):
    scalepan.serve.http.refused.RefusedError: host 'evil.example' is not served here; --allow-host adds a name
    """

    def __init__(self, more: Iterable[str] = ()) -> None:
        self.names = tuple(dict.fromkeys(name.strip("[]").lower() for name in (*LOOPBACK, *more)))

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """Refused, unless the request is meant for this server and comes from no other site."""
        host = headers.get(b"host", b"").lower()
        if _name(host) not in self.names:
            shown = host.decode("ascii", "replace")
            raise RefusedError(
                403, "BOUNDARY_DENIED", f"host '{shown[:100]}' is not served here; --allow-host adds a name"
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.lower() not in (b"http://" + host, b"https://" + host):
            raise RefusedError(403, "BOUNDARY_DENIED", "requests from other origins are refused")
        if headers.get(b"sec-fetch-site") in _STRANGE_SITES:
            raise RefusedError(403, "BOUNDARY_DENIED", "requests from other sites are refused")


def _name(host: bytes) -> str:
    """A Host header without its port.

    >>> _name(b"[::1]:8000"), _name(b"localhost"), _name(b"a:b:c"), _name(b"[::1].evil")
    ('::1', 'localhost', 'a:b:c', '[::1].evil')
    """
    text = host.decode("ascii", "replace")
    if text.startswith("["):
        inside = _ADDRESS.fullmatch(text)
        return inside[1] if inside else text
    name, colon, port = text.rpartition(":")
    return name if colon and port.isdigit() and ":" not in name else text
