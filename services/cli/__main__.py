"""`brb`, and `python -m services.cli`."""

import sys

from services.cli import alive


def main() -> None:
    if (status := alive.quickly(sys.argv[1:])) is not None:
        sys.exit(status)
    from services.cli import app

    app.build()(prog_name="brb")


if __name__ == "__main__":
    main()
