"""`brb`, and `python -m services.cli`."""

from services.cli import app


def main() -> None:
    app.build()(prog_name="brb")


if __name__ == "__main__":
    main()
