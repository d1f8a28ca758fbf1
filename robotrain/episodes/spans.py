"""Texts that hold for some frames of an episode.

Knows how one is stored: compact JSON with text, start_idx and end_idx. Refuses to know where.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Span", "prompts_at", "span_from_json"]


@dataclass(frozen=True, slots=True)
class Span:
    """A text that holds for frames start to end, end left out."""

    text: str
    start: int
    end: int


def span_from_json(stored: Any) -> Span:
    """Read one stored annotation.

    Raises:
        ValueError, TypeError, KeyError: when it is none.
    """
    told = json.loads(stored)
    if not isinstance(told, dict):
        raise TypeError(f"an annotation is a {type(told).__name__}, no object.")
    if not isinstance(told["text"], str):
        raise TypeError(f"the text of an annotation is {told['text']!r}, no text.")
    ends = told["start_idx"], told["end_idx"]
    if not all(type(end) is int or (isinstance(end, float) and end.is_integer()) for end in ends):
        raise TypeError(f"an annotation spans frames {ends[0]!r} to {ends[1]!r}, which are no whole numbers.")
    return Span(told["text"], int(ends[0]), int(ends[1]))


def prompts_at(spans: Sequence[Span], frame: int) -> tuple[str, ...]:
    """Return all texts that hold at a frame, in stored order."""
    return tuple(span.text for span in spans if span.start <= frame < span.end)
