"""The error tree. The type says what to do about it; the message names the cure.

BrbError
├── Transient          try again later: a dependency is away, slow or busy
│   └── Unavailable    ... and which one (`dependency`)
├── Permanent          trying again is useless
│   ├── BadInput       the caller can mend it
│   ├── NotFound
│   ├── WrongModel     the store or a model file is not the configured one
│   └── SetupError     this machine or its settings need a hand (missing package, taken port, unwritable folder)
└── Denied             not for this caller
"""


class BrbError(Exception):
    """Base of all errors that BRB raises on purpose."""


class Transient(BrbError):
    """May succeed when tried again."""


class Unavailable(Transient):
    """A dependency does not answer."""

    def __init__(self, dependency: str, reason: object = "") -> None:
        super().__init__(f"{dependency} is not available{f': {reason}' if str(reason) else ''}")
        self.dependency = dependency


class Permanent(BrbError):
    """Will fail again however often it is tried."""


class BadInput(Permanent):
    """The request can't be served as it stands."""


class NotFound(Permanent):
    """Nothing of that id within the caller's scope."""


class WrongModel(Permanent):
    """The data or file belongs to another model than the configured one."""


class SetupError(Permanent):
    """The machine or its settings need a hand before BRB can start."""


class Denied(BrbError):
    """The caller may not do that."""
