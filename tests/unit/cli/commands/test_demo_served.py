"""obverse demo --serve: the sample in a browser's reach, with an account of each role."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

MAIN = "from obverse.cli.main import main; main()"


def fetched(address: str, token: str = "") -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as reply:
        return reply.status, reply.read()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="serve needs Linux")
def test_each_role_has_a_link_and_each_link_a_token_that_lets_in(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        MAIN,
        "demo",
        "--out",
        str(tmp_path / "hospital"),
        "--serve",
        "--port",
        "0",
        "--json",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ
    ) as running:
        try:
            assert running.stdout is not None
            lines = []
            while not lines or lines[-1] != "}\n":  # one JSON object, over several lines
                lines.append(running.stdout.readline())
                assert lines[-1], "it ended"
            told = json.loads("".join(lines))
            assert set(told["links"]) == {"ana", "cora", "rita"}
            assert fetched(f"{told['http']}/")[0] == 200
            roles = {}
            for name, link in told["links"].items():
                page, _, token = link.partition("/enter?token=")
                assert page == f"{told['http']}/#/hospital"
                roles[name] = json.loads(fetched(f"{told['http']}/v1/hospital/session", token)[1])["role"]
            assert roles == {"ana": "analyst", "cora": "curator", "rita": "reviewer"}
            assert "/#/hospital/survey/missed_dose?token=" in told["survey"]
            assert told["public"] == f"{told['http']}/#/hospital/public"
        finally:
            running.send_signal(signal.SIGTERM)
            assert running.wait(60) == 0
