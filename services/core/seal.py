"""Encryption of what waits in Redis and in the spool: job payloads and ledger blocks (authenticated, AES-128-CBC + HMAC: Fernet)."""

import base64
import hashlib
import hmac
import secrets
import zlib

from cryptography.fernet import Fernet, InvalidToken

from services.core import config, errors

_BINARY = b"\x80"
"""How a Fernet token begins that is not written as text (its version)."""


class Seal:
    """Seals with a key derived from a secret; opening what another secret sealed raises `errors.Permanent`."""

    def __init__(self, secret: str) -> None:
        self._fernet = Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"brb-seal-v1" + secret.encode()).digest()))
        self._naming = hashlib.sha256(b"brb-name-v1" + secret.encode()).digest()

    def close(self, plain: bytes) -> bytes:
        """As text."""
        return self._fernet.encrypt(plain)

    def pack(self, plain: bytes) -> bytes:
        """Compressed first, and not as text: for what is kept in large numbers. `open` opens both."""
        return base64.urlsafe_b64decode(self._fernet.encrypt(zlib.compress(plain)))

    def open(self, sealed: bytes) -> bytes:
        packed = sealed.startswith(_BINARY)
        try:
            plain = self._fernet.decrypt(base64.urlsafe_b64encode(sealed) if packed else sealed)
        except InvalidToken:
            raise errors.Permanent("sealed with another BRB_SECRET_KEY: restore the former key (secret.key in the data folder)") from None
        return zlib.decompress(plain) if packed else plain

    def name(self, plain: bytes) -> bytes:
        """16 bytes that are the same for the same content, and tell nobody without the secret which it is."""
        return hmac.digest(self._naming, plain, "sha256")[:16]


def kept_secret(settings: config.Settings) -> str | None:
    """The secret, if there is one by now: it may be another's data folder, or BRB has never run."""
    if settings.secret_key is None and not (settings.data / "secret.key").is_file():
        return None
    return secret_of(settings)


def secret_of(settings: config.Settings) -> str:
    """`BRB_SECRET_KEY`, else the key in the data folder, made at the first call (mode 0600)."""
    if settings.secret_key is not None:
        return settings.secret_key.get_secret_value()
    path = settings.data / "secret.key"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return path.read_text().strip()
    except OSError as error:
        raise errors.SetupError(f"can't write {path}: {error.strerror}. Set BRB_DATA_DIR to a folder that you can write to") from None
    path.write_text(secrets.token_urlsafe(32))
    return path.read_text().strip()
