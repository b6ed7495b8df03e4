"""Runs pytest in a fork of the process that ``tests.side_by_side`` started, which has imported it.

usage, with SHARED_FORKS: python -IS tests/in_fork.py pytest [ARGUMENT...]

The fork ends with this process.
"""

import json
import os
import socket
import sys
import time

PYTEST = """
import sys, warnings

sys.warnoptions.clear()  # those of the process that forks
warnings.resetwarnings()
import pytest

sys.exit(pytest.main())
"""

with socket.socket(socket.AF_UNIX) as forks:
    forks.connect(os.environ["SHARED_FORKS"].partition(":")[2])
    socket.send_fds(forks, [b"."], [0, 1, 2])
    task = {
        "main": "tests.programs:run_code",
        "arguments": [PYTEST, *sys.argv[2:]],
        "seconds": 0,
        "folder": os.getcwd(),
        "waits": False,
        "environment": dict(os.environ),
    }
    forks.sendall(json.dumps(task).encode() + b"\n")
    fork = forks.recv(16)
    while True:
        forks.sendall(b"." + fork + b"\n")
        if (status := forks.recv(16)) != b"runs":
            sys.exit(int(status))
        time.sleep(0.1)
