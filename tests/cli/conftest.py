"""Fixtures of all tests of the command line."""

from clinic_shell import clinic, clinic_folder, old_clinic, shell  # noqa: F401
