"""An errand of the curator in a process of its own: one person's rows, for a service that cannot reach the door to them.

Reads one JSON object from its input (whom, why, by whom, in which form; or the id of an act, whose rows are counted) and writes
a line and the bytes: `ok`, or the error.
The person is in no argument, since those are seen by every user of a machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import BinaryIO

from obverse.core.errors import ObverseError
from obverse.curator.rights.access import export, matched


def main(asked: BinaryIO, told: BinaryIO) -> None:
    try:
        wanted = json.loads(asked.read())
        if "right" in wanted:
            told.write(b"ok\n" + json.dumps(matched(Path(wanted["project"]), wanted["right"])).encode())
            return
        held = export(Path(wanted["project"]), wanted["person"], wanted["reason"], wanted["by"])
        packed = held.as_zip() if wanted["format"] == "csv" else json.dumps(held.as_json(), ensure_ascii=False).encode()
        told.write(b"ok\n" + packed)
    except ObverseError as error:
        told.write(json.dumps(error.as_json()["error"]).encode() + b"\n")


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
