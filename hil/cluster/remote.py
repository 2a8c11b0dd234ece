"""A scheduler that runs already: its address, its certificates, its version, and what its workers offer."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
from pathlib import Path
from typing import Any

from hil.errors import RigError, message_of

ANSWER_S = 30.0  # for a scheduler to accept a connection, and to begin to talk
TLS = "distributed.comm.tls"
SETTINGS = f"{TLS}.ca-file, {TLS}.client.cert and {TLS}.client.key"


def checked(address: str) -> str:
    """Return the address of a scheduler.

    Raises:
        RigError: it is no `tls://HOST:PORT`, nor `tcp://` on this computer.
    """
    found = re.fullmatch(r"(tls|tcp)://(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):([0-9]{1,5})", address)
    if found is None or not 0 < int(found[3]) < 65536:
        raise RigError(f"--scheduler is {address!r}: give tls://HOST:PORT, as `dask scheduler` prints it.")
    if found[1] == "tcp" and not _is_loopback(found[2].strip("[]")):
        danger = "anybody on the way could run programs here"
        raise RigError(f"--scheduler {address} would send tasks without TLS, and {danger}: use tls://.")
    return address


def connect(address: str) -> Any:
    """Return a `distributed.Client` of the scheduler.

    Raises:
        RigError: nothing listens there, a certificate is missing or refused, or its Dask is of another version.
    """
    from distributed import Client
    from distributed.security import Security

    try:
        security: Any = Security()
        context = security.get_connection_args("client")["ssl_context"] if address.startswith("tls") else None
    except (OSError, ValueError) as error:
        raise RigError(f"the certificates of {SETTINGS} cannot be read ({message_of(error)}): correct them.") from error
    if address.startswith("tls") and context is None:
        raise RigError(f"{address} needs certificates: name them in Dask's configuration, {SETTINGS}.")
    _greet(address, context, str(security.tls_client_cert))
    try:
        client: Any = Client(address, security=security, set_as_default=False, timeout=ANSWER_S)
    except Exception as error:  # of another version, whatever it answers
        raise RigError(f"{address} is no scheduler of this Dask ({message_of(error)}): {_same()}") from error
    refuse_other_version(address, client.get_versions()["scheduler"]["packages"].get("distributed"))
    return client


def refuse_other_version(address: str, theirs: str | None) -> None:
    """Raise RigError if the scheduler has another Dask than this computer."""
    import distributed

    if theirs != distributed.__version__:
        raise RigError(f"{address} has Dask {theirs}, this computer {distributed.__version__}: {_same()}")


def offered(client: Any, resource: str) -> int:
    """Return how much of a resource the workers of a scheduler offer in all; 0 if it does not answer."""
    try:
        workers = client.scheduler_info()["workers"].values()
    except Exception:  # it has gone away, which the tasks under way say
        return 0
    return int(sum(worker.get("resources", {}).get(resource, 0) for worker in workers))


def _same() -> str:
    return "install the same version on scheduler, workers and here."


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _greet(address: str, context: ssl.SSLContext | None, certificate: str) -> None:
    """Connect once without Dask, whose own error does not say which side refused which certificate, and wait for it."""
    host, port = address.split("://")[1].rsplit(":", 1)
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_S) as connection:
            if context is not None:
                _shake_hands(address, connection, context, certificate)
    except OSError as error:
        cure = "start one there (`dask scheduler`), or correct --scheduler"
        raise RigError(f"no scheduler answers at {address} ({message_of(error)}): {cure}.") from error


def _shake_hands(address: str, connection: socket.socket, context: ssl.SSLContext, certificate: str) -> None:
    try:
        secured = context.wrap_socket(connection)
    except ssl.SSLCertVerificationError as error:
        cure = f"renew it, or correct {TLS}.ca-file"
        raise RigError(f"the certificate of {address} is refused here ({error.verify_message}): {cure}.") from error
    except ssl.SSLError as error:
        raise RigError(f"{address} does not speak TLS ({message_of(error)}): use the scheduler's address.") from error
    with secured:
        try:
            secured.recv(1)  # with TLS 1.3, a refusal comes after the handshake
        except ssl.SSLError as error:
            name = Path(certificate).name
            said = re.sub(r"[\[\]_]", " ", error.reason or message_of(error)).lower()
            raise RigError(f"{address} refuses the certificate {name} ({said}): renew it.") from error
