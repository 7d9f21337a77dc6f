"""`brb`, and `python -m services.cli`."""

import errno
import os
import sys
from contextlib import suppress

from services.cli import alive

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main() -> None:
    if (status := alive.quickly(sys.argv[1:])) is not None:
        sys.exit(status)
    from services.cli import app

    try:
        app.build()(prog_name="brb")
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what its buffer holds would be tried again at the end
        with suppress(OSError):
            sys.stderr.write(f"error: {error.filename or 'the output'} can't be written ({error.strerror}): make room\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
