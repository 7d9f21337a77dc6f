"""The `brb` command."""
