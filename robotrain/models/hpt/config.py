"""What an HPT policy is made of, as numbers. Widths of states and actions are not here: they come from layouts."""

from dataclasses import dataclass, field
from typing import Literal

from robotrain.models.flow import FlowConfig
from robotrain.models.heads import FlowHeadConfig
from robotrain.models.stems import StemsConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class HptConfig:
    """A heterogeneous pretrained transformer (Wang et al. 2024) with a flow-matching head."""

    family: Literal["hpt"] = "hpt"
    """The row of the registry."""
    name: str
    """The arch's name, as `--arch` spells it."""
    horizon: int
    """Steps of an action chunk, H; the episodes' rows are resampled to it."""
    width: int
    """E of the trunk's tokens."""
    depth: int
    """Blocks of the trunk."""
    heads: int
    """Attention heads of each block; must divide the width."""
    mlp_ratio: int = 4
    """How much wider the trunk's feed-forward maps are inside."""
    action_tokens: int = 8
    """Learned tokens in front of the sequence; what they become conditions the head."""
    dropout: float = 0.0
    """Share of attention weights dropped in training, everywhere in the policy."""
    stems: StemsConfig = field(default_factory=StemsConfig)
    """Sizes of the stems."""
    head: FlowHeadConfig = field(default_factory=FlowHeadConfig)
    """Size of the head."""
    flow: FlowConfig = field(default_factory=FlowConfig)
    """What the head learns, and how chunks are sampled."""
