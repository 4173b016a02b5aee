"""Fixtures of all tests of the studio."""

from chromium import chromium  # noqa: F401
from clinic_studio import clinic  # noqa: F401
