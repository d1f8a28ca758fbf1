"""What a data config says: which episodes, how they become chunks, how they are loaded.

Knows names and numbers; refuses to open anything.
"""

from dataclasses import dataclass, field

from robotrain.data.bounds import BoundsConfig
from robotrain.data.stats import StatsConfig
from robotrain.embodiments.history import History
from robotrain.episodes.resolver import SelectionConfig
from robotrain.episodes.validation.policy import ValidationConfig
from robotrain.errors import ConfigError

MAX_SECONDS = 60
"""Longest chunk, s: beyond any horizon in use, and short enough for the rows of all chunks of an episode to be held."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DataConfig:
    """The data of one run."""

    name: str = ""
    """A word for run folders and messages; empty where only a folder was named."""
    episodes: SelectionConfig = field(default_factory=SelectionConfig)
    """Which episodes, and how they split into training and validation."""
    manifest: str | None = None
    """File of digests that the episodes must match; None takes ``manifest.json`` of their folder, where it is."""
    allow_changed: bool = False
    """Train on episodes that differ from the manifest all the same; which ones, the run records."""
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    """How findings about these episodes are judged."""
    mode: str | None = None
    """Which transforms make actions of the stored arrays; None takes the embodiment's default."""
    seconds: float | None = None
    """Time that an action chunk spans; None takes the mode's own."""
    stop_at_text_end: bool = False
    """True: steps past the end of the text that holds at a frame are not real, as those past the episode's end are not.
    """
    history: History = field(default_factory=History)
    """States that the policy reads beside the current one."""
    mend_left_wrist: bool = False
    """True turns the left wrists of Mecka's older converter by 180 degrees about their own z axis, which mends them
    (finding mirrored-left-wrist). Refused for other vendors and for episodes whose keypoints show that they are sound.
    """
    cameras: tuple[str, ...] | None = None
    """Cameras that the policy sees; None takes all of the embodiment's."""
    image_size: tuple[int, ...] | None = None
    """Height and width in pixels that are enough, such as [240, 320]. The decoder then does less: it gives the smallest
    of a half, a quarter and an eighth of a picture that is at least as high and as wide. None reads whole pictures.
    """
    stats: StatsConfig = field(default_factory=StatsConfig)
    """How numbers are normalised."""
    bounds: BoundsConfig = field(default_factory=BoundsConfig)
    """What happens to training samples that are bad."""
    batch_size: int = 32
    """Samples a batch and process."""
    num_workers: int = 0
    """Loader processes beside the main one; 0 loads in the main process."""
    video_episodes: tuple[str, ...] = ()
    """Hashes of the episodes that evaluation draws whole; empty takes the first of the split."""

    def __post_init__(self) -> None:
        """Refuse numbers that make no batch or no chunk."""
        if self.batch_size < 1:
            raise ConfigError(f"data.batch_size must be at least 1, found {self.batch_size}.")
        if self.num_workers < 0:
            raise ConfigError(f"data.num_workers must be at least 0, found {self.num_workers}.")
        if self.image_size is not None and (len(self.image_size) != 2 or min(self.image_size) < 1):
            found = list(self.image_size)
            raise ConfigError(f"data.image_size must be a height and a width of at least 1 pixel, found {found}.")
        if self.seconds is not None and not 0 < self.seconds <= MAX_SECONDS:
            raise ConfigError(f"data.seconds must be above 0 and at most {MAX_SECONDS}, found {self.seconds}.")
