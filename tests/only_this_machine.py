"""As ``sitecustomize.py`` on the path of a Python: nothing it does leaves this machine, not even a
question for a name.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import sys

_ASKING = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
_SENDING = ("socket.connect", "socket.sendto", "socket.sendmsg")


def refuse(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: raises what a machine without a network would."""
    if event in _ASKING and not is_here(arguments[0]):
        raise socket.gaierror(socket.EAI_NONAME, "only this machine may be asked for")
    if event in _SENDING and isinstance(arguments[1], tuple) and not is_here(arguments[1][0]):
        raise OSError(errno.ENETUNREACH, "only this machine may be reached")


def is_here(host: object) -> bool:
    """Whether *host*, a name or an address, is this machine without asking anybody."""
    name = host.decode() if isinstance(host, (bytes, bytearray)) else str(host or "localhost")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name in ("localhost", socket.gethostname())
    return address.is_loopback or address.is_unspecified


if __name__ == "sitecustomize":
    sys.addaudithook(refuse)
