"""Fixtures of all tests of the command line."""

from clinic_shell import clinic, shell  # noqa: F401
