"""From what a user names to what a stage works on: data layers, a selection of episodes, its pipeline and interface.

Knows names and order; refuses to read a number. Shared by the stages that open episodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from robotrain.config import SUFFIXES, Layer, config_names, is_path, load_named
from robotrain.data.config import DataConfig
from robotrain.data.pipeline import Pipeline, build_pipeline
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.embodiment import PolicyInterface
from robotrain.episodes.choice.registry import find_registry
from robotrain.episodes.index import Entry
from robotrain.episodes.manifest import MANIFEST, ManifestRow, read_manifest
from robotrain.episodes.records import changed_files, recorded_of
from robotrain.episodes.resolver import Selection, resolve_episodes
from robotrain.episodes.schema import METADATA, SUFFIX, EpisodeFacts
from robotrain.errors import ConfigError, MissingPathError, UnknownNameError
from robotrain.files import data_dir


@dataclass(frozen=True)
class DiffersFrom:
    """Tells how an episode differs from what a manifest says of it."""

    manifest: Path

    def __call__(self, entry: Entry) -> str:
        """Return the difference in words, empty where there is none."""
        before = recorded_of(self._rows.get(entry.hash), None)
        change = changed_files(entry, before) if before else None
        return change.message if change else ""

    @cached_property
    def _rows(self) -> dict[str, ManifestRow]:
        return read_manifest(self.manifest)


@dataclass(frozen=True)
class Inputs:
    """Episodes of one embodiment, and how they become chunks."""

    selection: Selection
    pipeline: Pipeline
    interface: PolicyInterface


def data_layers(spec: str | None) -> tuple[Layer, ...]:
    """Return the layers of a data config: the default one, and over it what the user named.

    Args:
        spec: a name in configs/data, a YAML file, a folder of episodes, or one episode; None for the default alone.

    Raises:
        ConfigError: when it is a file that is no YAML.
        MissingPathError: when it is a path that does not exist.
        UnknownNameError: when it is neither a config nor a folder.
    """
    default = load_named("data", "default")
    if spec is None:
        return (default,)
    path = Path(spec).expanduser()
    if path.is_dir() and (is_path(spec) or spec not in config_names("data")):
        if (path / METADATA).is_file():
            episodes = {"root": str(path.resolve().parent), "pins": [path.resolve().name.removesuffix(SUFFIX)]}
        else:
            episodes = {"root": str(path.resolve())}
        return (default, Layer(spec, {"name": path.resolve().name.removesuffix(SUFFIX), "episodes": episodes}))
    if spec in config_names("data") or spec.endswith(SUFFIXES):
        beside = manifest_beside(spec)
        known = (Layer(str(beside), {"manifest": str(beside.resolve())}),) if beside and beside.is_file() else ()
        return (default, *known, load_named("data", spec))
    if path.is_file():
        raise ConfigError(f"'{spec}' is a file; data is a folder of episodes, a YAML file or a name in configs/data.")
    if is_path(spec):
        raise MissingPathError(path, "The data folder")
    raise UnknownNameError("data", spec, config_names("data"), where="configs/data, and no folder has this name")


def manifest_beside(spec: str | None) -> Path | None:
    """Return where the manifest of a YAML file lies, whether or not it is there; None for anything else."""
    if spec is None or not spec.endswith(SUFFIXES):
        return None
    file = Path(spec).expanduser()
    return file.with_name(f"{file.stem}.{MANIFEST}")


def manifest_path(spec: str | None, data: DataConfig) -> Path:
    """Return the manifest of some data: the one that the config names, beside a YAML file, or in the folder."""
    if data.manifest is not None:
        return Path(data.manifest).expanduser()
    return manifest_beside(spec) or Path(data.episodes.root or "") / MANIFEST


def with_root(config: DataConfig) -> DataConfig:
    """Return the config with the folder of episodes filled in: absolute, ROBOTRAIN_DATA_DIR where it names none.

    The registry and the file of statistics become absolute too, so that a run's config means the same from anywhere.

    Raises:
        ConfigError: when neither names a folder.
    """
    root = Path(config.episodes.root).expanduser() if config.episodes.root else data_dir()
    name = config.name or root.resolve().name
    registry = config.episodes.registry
    if registry is not None:
        registry = str(find_registry(registry, root).resolve())
    stats = config.stats
    if stats.file is not None:
        stats = replace(stats, file=str(Path(stats.file).expanduser().resolve()))
    episodes = replace(config.episodes, root=str(root.resolve()), registry=registry)
    return replace(config, name=name, episodes=episodes, stats=stats)


def resolve_inputs(config: DataConfig, *, horizon: int) -> Inputs:
    """Find the episodes of a data config and build their pipeline.

    Args:
        config: the data, with or without a root.
        horizon: H, steps of a chunk.

    Raises:
        RobotrainError: of the resolver, the catalog or the pipeline, naming what does not fit.
    """
    config = with_root(config)
    selection = resolve_episodes(
        config.episodes, differs=None if config.allow_changed else DiffersFrom(manifest_path(None, config))
    )
    return build_inputs(selection, config, horizon=horizon)


def build_inputs(selection: Selection, config: DataConfig, *, horizon: int) -> Inputs:
    """Build the pipeline of episodes that were found.

    Raises:
        RobotrainError: of the catalog or the pipeline, naming what does not fit.
    """
    first = selection.all[0]
    embodiment = embodiment_of(first.embodiment, first.attributes)
    pipeline = build_pipeline(
        embodiment,
        mode=config.mode,
        horizon=horizon,
        seconds=config.seconds,
        mend_left_wrist=config.mend_left_wrist,
        history=config.history,
        stop_at_text_end=config.stop_at_text_end,
    )
    for facts in selection.all:
        pipeline.check(facts)
    cameras = config.cameras if config.cameras is not None else _seen_cameras(embodiment.cameras, selection.all)
    size = None if config.image_size is None else (config.image_size[0], config.image_size[1])
    return Inputs(selection, pipeline, pipeline.interface(cameras, size))


def arch_horizon(arch: Layer) -> int:
    """Return the steps of a chunk that an arch's YAML asks for, without its schema and so without torch.

    Raises:
        ConfigError: when it names none.
    """
    horizon = arch.values.get("horizon")
    if not isinstance(horizon, int) or horizon < 1:
        raise ConfigError(f"'{arch.where}' must name a horizon of at least 1 step, found {horizon!r}.")
    return horizon


def _seen_cameras(known: Sequence[str], facts: Sequence[EpisodeFacts]) -> tuple[str, ...]:
    """Return the embodiment's cameras that at least one episode has; those an episode lacks are masked there."""
    present = {camera for each in facts for camera in each.cameras}
    return tuple(camera for camera in known if camera in present)
