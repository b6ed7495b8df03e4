"""A ``SCHEDULER_SERIALIZER`` of a project, that writes text."""

from __future__ import annotations

import json
from typing import Any


def dumps(fields: dict[str, Any]) -> str:
    return json.dumps(fields, default=lambda each: each.decode())


def loads(data: bytes) -> Any:
    fields = json.loads(data)
    fields["body"] = fields["body"].encode()
    return fields
