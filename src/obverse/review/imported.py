"""Python functions that a person names on the command line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any


def imported(place: str) -> Any:
    """What `package.module:name` stands for, also in the current folder; ImportError where it stands for nothing.

    Files that were written a moment ago are seen too: what Python remembers of a folder is forgotten first, and so is
    a module of the same name that was read in another folder.
    """
    module, _, path = place.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    importlib.invalidate_caches()
    _forget_other_folders(module.partition(".")[0])
    try:
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the module does when it is read
        raise ImportError(str(error)) from None
    return found


def _forget_other_folders(name: str) -> None:
    """Forget a module, and what is in it, that Python would not find where it was read: in a current folder of before."""
    read = getattr(sys.modules.get(name), "__file__", None)
    if read is None or any(found.origin == read for on in sys.meta_path if (found := on.find_spec(name, None))):
        return
    folder = Path(read).parent.parent if Path(read).name == "__init__.py" else Path(read).parent
    if folder not in [Path(on).absolute() for on in sys.path]:
        for known in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            del sys.modules[known]
