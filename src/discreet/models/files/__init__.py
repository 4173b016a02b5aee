"""Fitted models as files of JSON with their certificate: nothing in such a file is ever run."""

from discreet.models.files.document import ModelFileError, from_json, to_json
from discreet.models.files.paths import check_path, load, save

__all__ = ["ModelFileError", "check_path", "from_json", "load", "save", "to_json"]
