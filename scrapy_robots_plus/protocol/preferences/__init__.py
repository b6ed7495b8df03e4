"""What a site says about the use of its pages: by robots.txt, by headers, by directives."""

from .in_file import FilePreferences, statements_in
from .statements import (
    CURRENT,
    Contradiction,
    Preference,
    Preferences,
    Source,
    Statement,
    Vocabulary,
    combine,
)
from .tdm import TdmFile, tdm_statements
from .values import directive_statements, signal_header, usage_header

__all__ = [
    "CURRENT",
    "Contradiction",
    "FilePreferences",
    "Preference",
    "Preferences",
    "Source",
    "Statement",
    "TdmFile",
    "Vocabulary",
    "combine",
    "directive_statements",
    "signal_header",
    "statements_in",
    "tdm_statements",
    "usage_header",
]
