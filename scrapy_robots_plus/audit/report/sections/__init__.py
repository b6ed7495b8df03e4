"""The sections of the report, each about one question."""
