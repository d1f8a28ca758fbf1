"""Checks of annotated texts: whether they can be read, which frames they name, and what they say.

Knows spans as robotrain reads them, half-open; recognises those that name their last frame instead, and tells of them.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from robotrain.episodes.reader import Episode, Span
from robotrain.episodes.schema import ANNOTATIONS
from robotrain.episodes.validation.findings import Finding, build_finding

_SEPARATOR = " | "
_LEAST_COVERAGE = 0.9


def check_annotations(episode: Episode) -> Iterator[Finding]:
    """Check that the texts can be read, lie within the episode, say something, and cover it."""
    if episode.annotations_problem is not None:
        text = episode.annotations_problem
        yield build_finding("bad-annotations", episode.hash, text, array=ANNOTATIONS)
        return
    yield from _check_frames(episode)
    yield from _check_texts(episode)
    covered = _num_covered(episode)
    if covered < _LEAST_COVERAGE * episode.num_frames:
        text = f"{covered} of {episode.num_frames} frames have a text."
        yield build_finding("annotation-coverage", episode.hash, text, array=ANNOTATIONS)


def inclusive_evidence(spans: Sequence[Span], num_frames: int) -> str:
    """Return what shows that these spans of an episode name their last frame, as older writers do; empty if nothing.

    Shown by what half-open spans would not leave behind: a text of no frame, a last frame without text though none
    ends there, or one frame without text between every two neighbours. A text that ends at ``num_frames`` proves the
    contrary: there is no such frame to name.
    """
    if not spans or max(span.end for span in spans) >= num_frames:
        return ""
    ordered = sorted(spans, key=lambda span: (span.start, span.end))
    for span in ordered:
        if span.start == span.end:
            return f"'{span.text}' starts and ends at frame {span.start}."
        if span.end == num_frames - 1:
            return f"'{span.text}' ends at {span.end}, the last of {num_frames} frames."
    if len(spans) > 1 and all(after.start - before.end == 1 for before, after in pairwise(ordered)):
        return f"Each text ends one frame before the next starts, as '{ordered[0].text}' at {ordered[0].end}."
    return ""


def _num_covered(episode: Episode) -> int:
    """Return how many frames have a text, however many an episode claims."""
    covered = reached = 0
    for span in sorted(episode.spans, key=lambda span: span.start):
        start, end = max(span.start, reached), min(span.end, episode.num_frames)
        if span.text.strip() and end > start:
            covered += end - start
            reached = end
    return covered


def _check_frames(episode: Episode) -> Iterator[Finding]:
    spans, num_frames = episode.spans, episode.num_frames
    evidence = inclusive_evidence(spans, num_frames)
    if evidence:
        yield build_finding("inclusive-spans", episode.hash, evidence, array=ANNOTATIONS)
    astray = [span for span in spans if not 0 <= span.start < span.end + bool(evidence) <= num_frames]
    if astray:
        first, more = astray[0], f", and {len(astray) - 1} more lie astray" if len(astray) > 1 else ""
        text = f"'{first.text}' spans frames {first.start} to {first.end} of {num_frames}{more}."
        yield build_finding("bad-annotations", episode.hash, text, array=ANNOTATIONS)


def _check_texts(episode: Episode) -> Iterator[Finding]:
    faults = (
        ("blank-annotation", [span for span in episode.spans if not span.text.strip()]),
        ("annotation-separator", [span for span in episode.spans if _SEPARATOR in span.text]),
    )
    for code, spans in faults:
        if spans:
            first = spans[0]
            text = f"{len(spans)} of {len(episode.spans)} texts, first '{first.text}' from frame {first.start}."
            yield build_finding(code, episode.hash, text, array=ANNOTATIONS, frame=first.start)
