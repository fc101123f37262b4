from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.catalog.locate import Document, KeyParts, dotted, key_lines, line_of

SIGNS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
KEYS = st.one_of(st.sampled_from(["a", "b-c", "3", "a.b", "", 'q"', "é", "#", "[x]"]), st.text(SIGNS, max_size=5))
SCALARS = st.one_of(
    st.integers(), st.booleans(), st.text(SIGNS, max_size=8), st.sampled_from(["=", "]", "}", "# no", "a\n[b]"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
TREES = st.dictionaries(KEYS, st.one_of(VALUES, st.dictionaries(KEYS, VALUES, max_size=4)), max_size=5)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{dotted((key,))} = {_inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[ # a comment, with ] and }\n" + ",\n".join(_inline(inner) for inner in value) + "\n]"
    if isinstance(value, str) and "\n" in value:
        return f'"""{value}"""'
    return (
        str(value).lower()
        if isinstance(value, (bool, int))
        else json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    )


def _text(tree: dict[str, Any]) -> tuple[str, dict[KeyParts, int]]:
    """TOML of the tree, and the line on which each key of its upper two levels was written."""
    lines: list[str] = []
    where: dict[KeyParts, int] = {}

    def add(path: KeyParts, text: str) -> None:
        where[path] = sum(line.count("\n") + 1 for line in lines) + 1
        lines.append(text)

    simple = {key: value for key, value in tree.items() if not isinstance(value, dict)}
    for key, value in simple.items():
        add((key,), f"{dotted((key,))} = {_inline(value)}")
    for key, value in tree.items():
        if key not in simple:
            add((key,), f"[ {dotted((key,))} ] # header")
            for inner, held in value.items():
                add((key, inner), f"  {dotted((inner,))}={_inline(held)}")
    return "\n".join(lines), where


def _paths(tree: dict[str, Any], outer: KeyParts = ()) -> Iterator[KeyParts]:
    for key, value in tree.items():
        yield (*outer, key)
        if isinstance(value, dict):
            yield from _paths(value, (*outer, key))


@settings(max_examples=200, deadline=None)
@given(tree=TREES)
def test_every_key_of_a_toml_text_is_found_on_its_line(tree: dict[str, Any]) -> None:
    text, where = _text(tree)
    assert tomllib.loads(text) == tree
    found = key_lines(text)
    assert {path: line for path, line in found.items() if path in where} == where
    assert set(_paths(tree)) <= set(found)


def test_dotted_keys_strings_of_several_lines_and_inline_tables_are_followed() -> None:
    strings = "a.b.c = 1\ns = \"\"\"x\n[no]\ny = 1\"\"\"\nz = '''\n'''\n"
    text = strings + '[t . "u.v"]\nk = { m = [1, { n = 2 }], o.p = 3 }\n[[r]]\nw = 1\n'
    assert key_lines(text) == {
        ("a",): 1,
        ("a", "b"): 1,
        ("a", "b", "c"): 1,
        ("s",): 2,
        ("z",): 5,
        ("t",): 7,
        ("t", "u.v"): 7,
        ("t", "u.v", "k"): 8,
        ("t", "u.v", "k", "m"): 8,
        ("t", "u.v", "k", "m", "n"): 8,
        ("t", "u.v", "k", "o"): 8,
        ("t", "u.v", "k", "o", "p"): 8,
        ("r",): 9,
        ("r", "w"): 10,
    }


def test_a_key_that_is_not_there_is_placed_at_the_nearest_that_is() -> None:
    text = "[a]\nb = 1\n"
    assert line_of(text, ("a", "x", "y")) == 1
    assert line_of(text, ("z",)) is None
    assert Document(text, "obverse.toml").place(("a", "b c")) == 'obverse.toml:1 a."b c"'
    assert Document(text, "obverse.toml").place(("z",)) == "obverse.toml z"
