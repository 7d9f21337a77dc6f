"""Implementations of the ports. Only composition roots (`app.py`) import these."""
