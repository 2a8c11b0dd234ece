"""Certificates for a test: an authority, and what it has signed."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Authority:
    """An authority with its file `ca.pem` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"authority of {folder.name}")])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        signed = self._signed(self._name, self._key.public_key(), 30 * DAY, constraints)
        self.ca = folder / "ca.pem"
        self.ca.write_bytes(signed)

    def pair(self, name: str, left: timedelta = 7 * DAY) -> tuple[str, str]:
        """Write a certificate that is valid for so long from now, and its key; return their paths."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate, private = self.folder / f"{name}.pem", self.folder / f"{name}-key.pem"
        constraints = x509.BasicConstraints(ca=False, path_length=None)
        certificate.write_bytes(self._signed(subject, key.public_key(), left, constraints))
        plain = serialization.NoEncryption()
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        private.write_bytes(key.private_bytes(encoding, form, plain))
        return str(certificate), str(private)

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, left: timedelta, constraints: x509.BasicConstraints
    ) -> bytes:
        now = datetime.now(timezone.utc)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - 60 * DAY).not_valid_after(now + left)
        builder = builder.add_extension(constraints, critical=True)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
