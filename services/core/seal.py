"""Encryption of what waits in Redis and in the spool: job payloads and ledger blocks (authenticated, AES-128-CBC + HMAC: Fernet)."""

import base64
import hashlib
import secrets

from cryptography.fernet import Fernet, InvalidToken

from services.core import config, errors


class Seal:
    """Seals with a key derived from a secret; opening what another secret sealed raises `errors.Permanent`."""

    def __init__(self, secret: str) -> None:
        self._fernet = Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"brb-seal-v1" + secret.encode()).digest()))

    def close(self, plain: bytes) -> bytes:
        return self._fernet.encrypt(plain)

    def open(self, sealed: bytes) -> bytes:
        try:
            return self._fernet.decrypt(sealed)
        except InvalidToken:
            raise errors.Permanent("sealed with another BRB_SECRET_KEY: restore the former key (secret.key in the data folder)") from None


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
