"""Fixtures of all tests of the studio."""

from clinic_studio import clinic  # noqa: F401

from browsers import chromium  # noqa: F401
