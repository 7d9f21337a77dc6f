"""Learns from answered turns: redact, extract, ground, filter."""
