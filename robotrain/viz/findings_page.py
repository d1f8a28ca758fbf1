"""What validate-data found, as a page to look at: numbers, codes, and a strip of pictures for every flagged episode.

Knows findings, episodes and HTML; refuses to check anything. The page is one file without scripts beside a folder of
thumbnails. Whatever came from data is escaped, and what cannot be read is told on the page.
"""

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from pathlib import Path

from robotrain.canvas import encode_jpeg
from robotrain.console import count, track
from robotrain.episodes.reader import Episode, open_episode
from robotrain.episodes.schema import camera_of, hash_of
from robotrain.episodes.validation.codes import CODES
from robotrain.episodes.validation.findings import Finding
from robotrain.errors import EpisodeError, ExistingPathError, MissingPathError
from robotrain.files import write_text
from robotrain.viz.thumbnails import WIDTH, spaced_frames, thumbnail_strip

__all__ = ["require_page_folder", "write_findings_page"]

PAGE = "index.html"
THUMBNAILS = "thumbnails"
MOST_STRIPS = 200
"""Flagged episodes that are shown with pictures."""
MOST_ROWS = 2000
"""Flagged episodes beyond those that are listed by name."""
MOST_FINDINGS = 50
"""Findings listed for one episode, or for the folder."""
MOST_NAMED_FRAMES = 8
"""Frames named by findings that are shown for one camera."""
QUALITY = 80
_GENERATOR = '<meta name="generator" content="robotrain validate-data">'
_THUMBNAIL_NAME = re.compile(r"\d+-\d+-\d+\.jpg")
_PARTIAL_NAME = re.compile(r"\.index\..*\.partial\.html")
_RANKS = {"error": 0, "warning": 1, "off": 2}


def require_page_folder(folder: Path) -> None:
    """Check that a page may be written into a folder: it is not there yet, is empty, or holds an older page.

    Raises:
        ExistingPathError: when it holds anything else.
    """
    if folder.exists() and not folder.is_dir():
        raise ExistingPathError(folder, "The file", hint="The page needs a folder: name another.")
    foreign = next(_foreign_names(folder), None) if folder.is_dir() else None
    if foreign is not None:
        hint = f"It holds '{foreign}', which no page of findings does: name another folder, or an empty one."
        raise ExistingPathError(folder, "The folder", hint=hint)


def write_findings_page(
    folder: Path, findings: Iterable[Finding], *, root: Path, num_episodes: int, num_frames: int
) -> Path:
    """Write a page of findings with thumbnails into a folder, in place of an older one, and return the page.

    The page itself is written last: a folder without it is unfinished. One episode at a time is opened.

    Args:
        folder: holds nothing but the page and its thumbnails, see `require_page_folder`.
        findings: of one folder of episodes, in any order. Read twice, so that few are held at a time: no iterator.
        root: the folder of episodes, where pictures are looked up by hash.
        num_episodes: episodes that were checked.
        num_frames: frames that they have together.

    Raises:
        ExistingPathError: when the folder holds something else.
    """
    if iter(findings) is findings:
        raise AssertionError("findings are read twice")
    require_page_folder(folder)
    tally = _count(findings)
    flagged = sorted(tally.ranks, key=tally.ranks.__getitem__)
    shown = dict.fromkeys(flagged[:MOST_STRIPS])
    told: dict[str, list[Finding]] = {}
    for finding in findings:
        if not finding.episode or finding.episode in shown:
            told.setdefault(finding.episode, []).append(finding)
    for each in told.values():
        each.sort(key=_rank)
    _clear(folder)
    (folder / THUMBNAILS).mkdir(parents=True)
    parts = [
        *_head(root),
        _numbers(num_episodes, num_frames, tally),
        *_code_table(tally),
        *_folder_section(told.get("", ())),
    ]
    tracked = track(enumerate(shown), "draw", total=len(shown), unit="episodes")
    parts += [_episode_section(folder, number, root, episode, told[episode]) for number, episode in tracked]
    parts += _rest_section({episode: tally.by_episode[episode] for episode in flagged[MOST_STRIPS:]})
    write_text(folder / PAGE, "\n".join([*parts, "</main></body></html>", ""]))
    return folder / PAGE


@dataclass(frozen=True)
class _Tally:
    """How many findings there are of what, without holding them."""

    by_severity: Counter[str] = field(default_factory=Counter)
    by_code: Counter[str] = field(default_factory=Counter)
    by_episode: dict[str, dict[str, int]] = field(default_factory=dict)
    """Number of findings by code, of each flagged episode."""
    ranks: dict[str, int] = field(default_factory=dict)
    """Of each flagged episode: its gravest finding's."""
    samples: dict[str, Finding] = field(default_factory=dict)
    """The gravest finding of each code."""


def _count(findings: Iterable[Finding]) -> _Tally:
    tally = _Tally()
    for finding in findings:
        code, episode, rank = sys.intern(finding.code), finding.episode, _rank(finding)
        tally.by_severity[finding.severity] += 1
        tally.by_code[code] += 1
        if code not in tally.samples or rank < _rank(tally.samples[code]):
            tally.samples[code] = finding
        if episode:
            codes = tally.by_episode.setdefault(episode, {})
            codes[code] = codes.get(code, 0) + 1
            tally.ranks[episode] = min(rank, tally.ranks.get(episode, rank))
    return tally


def _rank(finding: Finding) -> int:
    return _RANKS[finding.severity]


def _foreign_names(folder: Path) -> Iterator[str]:
    """Yield the names in a folder that no earlier page, finished or not, has left there."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            yield path.name
        elif path.name == THUMBNAILS and path.is_dir():
            yield from (f"{THUMBNAILS}/{each.name}" for each in path.iterdir() if not _is_thumbnail(each))
        elif path.name == PAGE and path.is_file():
            with path.open(encoding="utf-8", errors="replace") as stream:
                if _GENERATOR not in stream.read(1000):
                    yield PAGE
        elif not _PARTIAL_NAME.fullmatch(path.name):
            yield path.name


def _is_thumbnail(path: Path) -> bool:
    return path.is_file() and _THUMBNAIL_NAME.fullmatch(path.name) is not None


def _clear(folder: Path) -> None:
    """Remove an older page, the page before its thumbnails."""
    if not folder.is_dir():
        return
    (folder / PAGE).unlink(missing_ok=True)
    for path in folder.iterdir():
        if path.name == THUMBNAILS:
            shutil.rmtree(path)
        else:
            path.unlink()


def _text(value: object) -> str:
    """Return data as HTML text; bytes of a name that are no UTF-8 are spelled out."""
    return escape(str(value).encode(errors="backslashreplace").decode())


def _head(root: Path) -> Iterator[str]:
    title = f"Findings in {_text(hash_of(root.absolute()))}"
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    yield _GENERATOR
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body><main>"
    yield f"<h1>{title}</h1><p class=quiet>{_text(root)}</p>"


def _numbers(num_episodes: int, num_frames: int, tally: _Tally) -> str:
    told = (
        count(num_episodes, "episode"),
        count(num_frames, "frame"),
        count(tally.by_severity["error"], "error"),
        count(tally.by_severity["warning"], "warning"),
        f"{count(len(tally.by_episode), 'episode')} flagged",
    )
    return f"<ul class=numbers>{''.join(f'<li>{each}</li>' for each in told)}</ul>"


def _code_table(tally: _Tally) -> Iterator[str]:
    if not tally.samples:
        yield "<p>Nothing was found.</p>"
        return
    episodes = Counter(code for codes in tally.by_episode.values() for code in codes)
    yield "<h2>By code</h2><table><thead><tr><th>Code<th>Severity<th>Findings<th>Episodes<th>Meaning<th>How to mend"
    yield "</thead><tbody>"
    for code in sorted(tally.samples, key=lambda code: (_rank(tally.samples[code]), -tally.by_code[code], code)):
        sample = tally.samples[code]
        yield (
            f'<tr id="{_text(code)}"><td><code>{_text(code)}</code><td>{_badge(sample)}'
            f"<td data-label=findings>{tally.by_code[code]:,}<td data-label=episodes>{episodes[code]:,}"
            f"<td>{_text(CODES[code].meaning)}<td>{_text(sample.hint)}"
        )
    yield "</tbody></table>"


def _folder_section(findings: Sequence[Finding]) -> Iterator[str]:
    if findings:
        yield f"<section><h2>The whole folder</h2>{_finding_list(findings)}</section>"


def _episode_section(folder: Path, number: int, root: Path, episode: str, findings: Sequence[Finding]) -> str:
    parts = [f"<section><h2>{_text(episode)}</h2>"]
    try:
        opened = _open(root, episode)
    except (EpisodeError, OSError) as problem:
        told = problem.problem if isinstance(problem, EpisodeError) else str(problem)
        parts += [f"<p class=box>It cannot be opened: {_text(told)}</p>", _finding_list(findings)]
    else:
        seconds = float(opened.num_frames / opened.fps)
        size = f"{count(opened.num_frames, 'frame')}, {seconds:.1f} s"
        parts += [f"<p class=quiet>{_text(opened.embodiment)}, {size}</p>", _finding_list(findings)]
        parts += _strips(folder, number, opened, findings)
    return "\n".join([*parts, "</section>"])


def _open(root: Path, episode: str) -> Episode:
    """Open an episode by its hash; a hash that is a path leads nowhere, as it may come from a config."""
    named = [root] if hash_of(root.absolute()) == episode else []
    if Path(episode).name == episode:
        named += [root / f"{episode}.zarr", root / episode]
    path = next((path for path in named if path.is_dir()), None)
    if path is None:
        raise MissingPathError(root / episode, "The episode")
    return open_episode(path)


def _finding_list(findings: Sequence[Finding]) -> str:
    items = []
    for finding in findings[:MOST_FINDINGS]:
        code = _text(finding.code)
        place = [_text(finding.array)] * bool(finding.array)
        place += [f"frame {finding.frame:,}"] if finding.frame is not None else []
        items.append(
            f'<li>{_badge(finding)} <a href="#{code}">{code}</a> '
            f"<span class=quiet>{', '.join(place)}</span><br>{_text(finding.message)}</li>"
        )
    if len(findings) > MOST_FINDINGS:
        items.append(f"<li>and {len(findings) - MOST_FINDINGS:,} more</li>")
    return f"<ul class=findings>{''.join(items)}</ul>"


def _badge(finding: Finding) -> str:
    return f'<span class="badge {finding.severity}">{finding.severity}</span>'


def _strips(folder: Path, number: int, episode: Episode, findings: Sequence[Finding]) -> Iterator[str]:
    if not episode.cameras:
        yield "<p class=quiet>It has no pictures.</p>"
    for place, camera in enumerate(episode.cameras):
        named = _named_frames(findings, camera, episode.num_frames)
        kept = dict(sorted(named.items())[:MOST_NAMED_FRAMES])
        frames = sorted({*spaced_frames(episode.num_frames), *kept})
        yield f"<h3>{_text(camera)}</h3><div class=strip>"
        for thumbnail in thumbnail_strip(episode, camera, frames):
            caption = f"{thumbnail.frame:,}"
            if codes := kept.get(thumbnail.frame):
                caption += f"<br><strong>{_text(', '.join(codes))}</strong>"
            if thumbnail.image is None:
                picture = f'<div class="box picture">cannot be read: {_text(thumbnail.problem)}</div>'
            else:
                name = f"{THUMBNAILS}/{number}-{place}-{thumbnail.frame}.jpg"
                (folder / name).write_bytes(encode_jpeg(thumbnail.image, QUALITY))
                height, width = thumbnail.image.shape[:2]
                picture = (
                    f'<img loading=lazy src="{name}" width={width} height={height} '
                    f'alt="{_text(camera)}, frame {thumbnail.frame}">'
                )
            marked = " class=marked" if codes else ""
            yield f"<figure{marked}>{picture}<figcaption>{caption}</figcaption></figure>"
        yield "</div>"
        if len(named) > len(kept):
            yield f"<p class=quiet>{count(len(named) - len(kept), 'more named frame')} not shown.</p>"


def _named_frames(findings: Sequence[Finding], camera: str, num_frames: int) -> dict[int, list[str]]:
    """Return by frame the codes that name it; a finding about another camera does not concern this one."""
    named: dict[int, list[str]] = {}
    for finding in findings:
        frame, other = finding.frame, camera_of(finding.array)
        if frame is None or not 0 <= frame < num_frames or other not in {None, camera}:
            continue
        codes = named.setdefault(frame, [])
        if finding.code not in codes:
            codes.append(finding.code)
    return named


def _rest_section(rest: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield a table of the episodes that are left without pictures, each with its number of findings by code."""
    if not rest:
        return
    yield f"<section><h2>Without pictures</h2><p>{count(len(rest), 'more flagged episode')}, left without pictures: "
    yield f"the page shows {MOST_STRIPS:,}. Every finding is in: <code>robotrain validate-data --json</code></p>"
    yield "<table><thead><tr><th>Episode<th>Findings<th>Codes</thead><tbody>"
    for episode, codes in islice(rest.items(), MOST_ROWS):
        yield f"<tr><td>{_text(episode)}<td data-label=findings>{sum(codes.values()):,}<td>{_text(', '.join(codes))}"
    yield "</tbody></table>"
    if len(rest) > MOST_ROWS:
        yield f"<p>and {len(rest) - MOST_ROWS:,} more</p>"
    yield "</section>"


_STYLE = f"""
:root {{ color-scheme: light dark; --paper: #fff; --text: #1b1b1f; --quiet: #62626c; --line: #dcdce2; --card: #f6f6f8;
  --error: #b3261e; --warning: #8a5a00; --mark: #d55e00; }}
@media (prefers-color-scheme: dark) {{ :root {{ --paper: #18181c; --text: #ececf0; --quiet: #a5a5b0; --line: #3a3a42;
  --card: #222228; --error: #ff8a80; --warning: #ffc46b; --mark: #ff8f3d; }} }}
body {{ margin: 0; background: var(--paper); color: var(--text); font: 16px/1.45 system-ui, sans-serif; }}
main {{ max-width: 75rem; margin: auto; padding: 1rem; }}
h1 {{ font-size: 1.5rem; margin: .5rem 0; }}
h2 {{ font-size: 1.15rem; margin: 0 0 .3rem; }}
h1, h2, p, td, li {{ overflow-wrap: anywhere; }}
h3 {{ font-size: 1rem; margin: .8rem 0 .3rem; }}
.quiet {{ color: var(--quiet); margin: 0 0 .5rem; }}
.numbers {{ display: flex; flex-wrap: wrap; gap: .6rem; padding: 0; list-style: none; font-weight: 600; }}
.numbers li, section {{ background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }}
.numbers li {{ padding: .4rem .8rem; }}
section {{ margin: 1.2rem 0; padding: 1rem; }}
table {{ border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }}
th, td {{ text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); }}
td code {{ white-space: nowrap; }}
:target {{ background: var(--card); }}
a {{ color: inherit; font-weight: 600; }}
.badge {{ font-size: .8rem; font-weight: 600; padding: 0 .4rem; border: 1px solid; border-radius: .3rem;
  white-space: nowrap; }}
.badge.error {{ color: var(--error); }}
.badge.warning {{ color: var(--warning); }}
.findings {{ padding: 0; list-style: none; }}
.findings li {{ margin: .5rem 0; }}
.strip {{ display: flex; gap: .5rem; overflow-x: auto; align-items: flex-start; padding-bottom: .4rem; }}
figure {{ flex: none; margin: 0; padding: 3px; width: {WIDTH}px; font-size: .85rem; }}
figure.marked {{ outline: 3px solid var(--mark); outline-offset: -1px; border-radius: 2px; }}
figure img {{ display: block; }}
.box {{ border: 2px dashed var(--error); padding: .5rem; }}
.box.picture {{ box-sizing: border-box; width: 100%; min-height: 5rem; overflow-wrap: anywhere; }}
@media (max-width: 40rem) {{ main {{ padding: .6rem; }} thead {{ display: none; }}
  table, tbody, tr, td {{ display: block; }} td {{ border: 0; padding: .1rem 0; }}
  tr {{ border-bottom: 1px solid var(--line); padding: .5rem 0; }}
  td[data-label]::before {{ content: attr(data-label) ": "; color: var(--quiet); }} }}
"""
