"""obverse collect new: a survey declared in obverse.toml, which is made where there is none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from obverse.catalog.edit import Fact, with_survey
from obverse.catalog.load import FILE_NAME, loads
from obverse.catalog.locate import quoted
from obverse.catalog.shape import NAME_MAX
from obverse.collect.surveys import declared_spec
from obverse.core.errors import Refused
from obverse.session.project_file import edit_project_file, write_new_project_file


def add_survey(project: Path, name: str, facts: Mapping[str, Fact]) -> Path:
    """Append a section; valid before and after, and such that people can be asked, or not written."""
    if not name.isprintable() or not 0 < len(name) <= NAME_MAX or "." in name:
        raise Refused("bad_name", "not a name for a survey", fix="Use letters and digits, such as missed_dose.")
    target = project if project.suffix == ".toml" else project / FILE_NAME

    def declared(text: str) -> str:
        changed = with_survey(text, name, facts)
        declared_spec(loads(changed.removeprefix("\ufeff"), target.parent, target.name), name)
        return changed

    if project.suffix == ".toml" or os.path.lexists(target):
        return edit_project_file(project, declared)()
    write_new_project_file(target, declared(f"[project]\nname = {quoted(project.absolute().name or 'project')}\n"))
    return target
