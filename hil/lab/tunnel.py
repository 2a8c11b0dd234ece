"""SSH tunnels to what a lab has behind a host: labgrid's own, for an isolated exporter or by the variable LG_PROXY."""

from __future__ import annotations

import contextlib
import importlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hil.errors import Blocked, message_of
from hil.lab.package import load
from hil.lab.state import Resource
from hil.rig_toml import PORT

if TYPE_CHECKING:
    from hil.lab.found import Found

VARIABLE = "LG_PROXY"


def proxy_of(resource: Resource) -> str | None:
    """Return the SSH host through which a resource is reached, as labgrid chooses it; None without one."""
    if resource.extra.get("proxy_required"):
        return str(resource.extra.get("proxy") or resource.exporter)
    return os.environ.get(VARIABLE) or None


def tunnelled(found: Found) -> Found:
    """Return what a place has, with the addresses of this computer's ends of the tunnels.

    Raises Blocked if an SSH host does not forward.
    """
    if found.serial is not None and found.serial_proxy is not None:
        parts = urlsplit(found.serial)
        local = forwarded(found.serial_proxy, str(parts.hostname), int(parts.port or 0))
        found = replace(found, serial=parts._replace(netloc=f"localhost:{local}").geturl())
    if found.probe is not None and found.probe_proxy is not None:
        host, _, port = found.probe.removeprefix("remote:").rpartition(":")
        found = replace(found, probe=f"remote:localhost:{forwarded(found.probe_proxy, host, int(port))}")
    return found


def coordinator_address(address: str) -> str:
    """Return where the coordinator at `host:port` is reached. Raises Blocked as `tunnelled`."""
    proxy = os.environ.get(VARIABLE)
    if not proxy:
        return address
    parts = urlsplit(f"//{address}")
    return f"localhost:{forwarded(proxy, str(parts.hostname), parts.port or PORT)}"


def forwarded(proxy: str, host: str, port: int) -> int:
    """Return the port of this computer that leads through an SSH host to `host:port`; one tunnel for each.

    Raises Blocked if the SSH host cannot be reached without a password, or does not forward.
    """
    load()
    manager: Any = importlib.import_module("labgrid.util.ssh").sshmanager
    destination = f"[{host}]" if ":" in host else host
    try:
        if not manager.get(proxy).isconnected():
            with contextlib.suppress(Exception):  # what is left of a connection that has ended
                manager.get(proxy).cleanup()
            manager.remove_by_name(proxy)
        return int(manager.request_forward(proxy, destination, port))
    except Exception as error:  # labgrid's, and those of its ssh process
        raise Blocked(
            "bench",
            f"SSH to {proxy}, through which {host}:{port} is reached, failed ({message_of(error)}): "
            f"make `ssh {proxy}` work without a password, with its host key known.",
        ) from error
