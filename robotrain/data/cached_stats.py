"""Statistics from the cache where the data, the transforms and the code are the same, else computed and kept.

Knows what a cache key must contain. A hit on unchanged episodes reads no byte of an array, only names, sizes and times
of files, and loads neither torch nor zarr.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from robotrain import console
from robotrain.cache import cache_file, load_cached, save_cached, source_digest
from robotrain.data.pipeline import Pipeline
from robotrain.data.stats import MEMORY_GIB, SCHEMA_VERSION, Stats
from robotrain.episodes import schema
from robotrain.episodes.digest import digest_of_arrays
from robotrain.episodes.index import open_index
from robotrain.episodes.reader import Episode
from robotrain.episodes.schema import EpisodeFacts
from robotrain.errors import StatsError
from robotrain.files import sha256_of_json

KIND = "norm-stats"

SOURCES = (
    "geometry",
    "embodiments",
    "episodes/schema.py",
    "episodes/calibration.py",
    "episodes/storage.py",
    "episodes/shards.py",
    "episodes/left_wrist.py",
    "episodes/spans.py",
    "episodes/reader.py",
    "data/transforms.py",
    "data/sources.py",
    "data/numbers.py",
    "data/past.py",
    "data/windows.py",
    "data/pipeline.py",
    "data/stats.py",
    "data/chunk_sums.py",
    "data/describe.py",
    "data/sample_table.py",
    "data/shared_columns.py",
    "data/exact_stats.py",
)
"""Files and folders of the package that make the numbers: a change in one is another key."""

_CALIBRATION = (schema.EXTRINSICS, schema.CALIBRATION)


@dataclass(frozen=True)
class CacheResult:
    """Where the statistics came from."""

    hit: bool
    path: Path
    """The cache file."""
    key: str
    seconds: float


def load_or_compute_stats(
    facts: Sequence[EpisodeFacts],
    pipeline: Pipeline,
    cameras: tuple[str, ...] | None = None,
    *,
    pool_horizon: bool = False,
    memory_gib: float = MEMORY_GIB,
    recompute: bool = False,
) -> tuple[Stats, CacheResult]:
    """Return the statistics of some episodes, from the cache if nothing that shapes them has changed.

    Says once whether it was a hit.

    Args:
        facts: the training episodes.
        pipeline: makes chunks of their arrays.
        cameras: what the interface names; not part of the key.
        pool_horizon: one set of action numbers a channel over all steps.
        memory_gib: most that the samples may take at a time; not part of the key.
        recompute: True ignores what is in the cache and replaces it.

    Raises:
        StatsError: when a value is not finite, or there is no real step at all.
        EpisodeError: when an episode cannot be read by this pipeline.
    """
    begin = time.monotonic()
    for episode in facts:
        pipeline.check(episode)
    key = stats_key(facts, pipeline, pool_horizon=pool_horizon)
    path = cache_file(KIND, key)
    stats = None if recompute else _cached(key)
    hit = stats is not None
    if stats is None:
        from robotrain.data.exact_stats import compute_stats  # what a hit does without

        stats = compute_stats(
            [Episode(episode) for episode in facts],
            pipeline,
            cameras,
            pool_horizon=pool_horizon,
            memory_gib=memory_gib,
        )
        save_cached(KIND, key, {"key": key, "stats": stats.to_plain()})
    seconds = time.monotonic() - begin
    origin = "from the cache" if hit else "computed"
    basis = f"{console.count(len(facts), 'episode')}, {console.count(stats.num_samples, 'sample')}"
    console.say(f"Statistics of {basis}: {origin} in {seconds:.1f} s.")
    return replace(stats, interface=pipeline.interface(cameras)), CacheResult(hit, path, key, seconds)


def stats_key(facts: Sequence[EpisodeFacts], pipeline: Pipeline, *, pool_horizon: bool) -> str:
    """Return the SHA-256 of everything that shapes the statistics, and of nothing else.

    Raises:
        EpisodeError: when an episode lacks an array.
    """
    digests = _arrays_digests(facts, pipeline)
    episodes = sorted(
        [
            episode.hash,
            digests[episode.path],
            episode.num_frames,
            str(episode.fps),
            _calibration_digest(episode),
        ]
        for episode in facts
    )
    inputs = {
        "schema_version": SCHEMA_VERSION,
        "episodes": episodes,
        "pipeline": pipeline.recipe(),
        "pool_horizon": pool_horizon,
        "sources": source_digest(SOURCES),
    }
    return sha256_of_json(inputs)


def _arrays_digests(facts: Sequence[EpisodeFacts], pipeline: Pipeline) -> dict[Path, str]:
    """Return the digest of the arrays that shape the numbers, by episode; what the index knows is not read."""
    folders: dict[Path, dict[Path, tuple[str, ...]]] = {}
    for episode in facts:
        folders.setdefault(episode.path.parent, {})[episode.path] = pipeline.digested_arrays(episode)
    digests: dict[Path, str] = {}
    for root, arrays in folders.items():
        with open_index(root) as index:
            seen = index.arrays_digests(arrays)
            unknown = [path for path in arrays if seen[path].digest is None]
            for path in console.track(unknown, "digests", total=len(unknown), unit="episodes"):
                seen[path] = replace(seen[path], digest=digest_of_arrays(path, arrays[path]))
            index.keep_arrays_digests(seen[path] for path in unknown)
            digests |= {path: each.digest or "" for path, each in seen.items()}
    return digests


def _calibration_digest(episode: EpisodeFacts) -> str:
    """Camera poses in the attributes shape the numbers too; spelled by json, which lets odd values pass."""
    told = [episode.attributes.get(name) for name in _CALIBRATION]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _cached(key: str) -> Stats | None:
    payload = load_cached(KIND, key)
    if payload is None:
        return None
    told = payload.get("stats")
    try:
        return Stats.from_plain(told if isinstance(told, dict) else {})
    except StatsError as problem:
        console.warn(f"the cached statistics are of no use and are computed again: {problem}")
        return None
