"""The error tree: every error has a stable code, says what, where, why and how to fix.

Texts that come from somebody else's server, made fit to be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LENGTH_MAX = 500


def foreign_text(said: object) -> str:
    """The text without signs that would move a terminal's cursor or colours, and not too long."""
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in str(said or "")).split())
    return text if len(text) <= LENGTH_MAX else text[:LENGTH_MAX] + " ..."


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the question's text, as offsets of its characters; end is exclusive."""

    start: int
    end: int

    def line_and_column(self, text: str) -> tuple[int, int]:
        before = text[: self.start]
        return before.count("\n") + 1, self.start - (before.rfind("\n") + 1) + 1

    def closed(self, text: str) -> Span:
        """The span with the parentheses that it opens; a parser remembers where names stand, not what closes them."""
        open_ = 0
        quote = ""
        for c in text[self.start : self.end]:
            if quote or c in "'\"":
                quote = "" if c == quote else quote or c
            else:
                open_ += (c == "(") - (c == ")" and open_ > 0)
        end = self.end
        while open_ > 0:
            rest = text[end:].lstrip()
            if not rest.startswith(")"):
                return self
            end = len(text) - len(rest) + 1
            open_ = open_ - 1
        return Span(self.start, end)

    def underline(self, text: str) -> str:
        """The line of the text that holds the span, with carets below it."""
        begin = text.rfind("\n", 0, self.start) + 1
        finish = text.find("\n", self.start)
        line = text[begin : finish if finish >= 0 else len(text)]
        column = self.start - begin
        width = max(1, min(self.end, begin + len(line)) - self.start)
        first = max(0, column - 60)
        shown = "".join(c if c.isprintable() else " " for c in line[first : first + 120])
        return f"  {shown}\n  {' ' * (column - first)}{'^' * min(width, 120 - column + first)}"


class ObverseError(Exception):
    """The root of all errors a user may meet. Never carries a data value or a row count."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        why: str = "",
        fix: str = "",
        span: Span | None = None,
        text: str = "",
        place: str = "",
        charged: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.why = why
        self.fix = fix
        self.span = span
        self.text = text
        self.place = place
        self.charged = charged

    def located(self, text: str) -> ObverseError:
        """The same error, knowing the text that its span points into."""
        self.text = text
        self.span = None if self.span is None else self.span.closed(text)
        return self

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.place:
            lines.append(f"  {self.place}")
        if self.span is not None and self.text:
            lines.append(self.span.underline(self.text))
        if self.why:
            lines.append(f"Why: {self.why}")
        if self.fix:
            lines.append(f"Fix: {self.fix}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        where = None
        if self.span is not None and self.text:
            line, column = self.span.line_and_column(self.text)
            where = {"line": line, "column": column}
        return {
            "error": {"code": self.code, "message": self.message, "where": where, "why": self.why, "fix": self.fix},
            "charged": self.charged,
        }


class Refused(ObverseError):
    """The question or the declaration cannot be served; nothing was spent and no row was read."""


class CatalogError(Refused):
    """obverse.toml is wrong; `place` names file, line and key."""


class BudgetExceeded(ObverseError):
    """The price does not fit into what is left; nothing was spent and no row was read."""


class LedgerError(ObverseError):
    """The ledger cannot be trusted or written, so nothing is answered."""


class Failed(ObverseError):
    """Something failed after the debit. One constant text; the charge stays."""


class InvariantBroken(ObverseError):
    """A check that guards privacy failed: a defect of Obverse, never of the question."""

    def __init__(self, text: str) -> None:
        super().__init__("invariant_broken", f"internal check failed: {text}", fix="Please report this as a defect.")


def invariant(holds: bool, text: str) -> None:
    """Like assert, but `python -O` does not delete it."""
    if not holds:
        raise InvariantBroken(text)
