"""Folders that say of themselves what episodes say, and hold no array: for those who only look at attributes."""

import json
from pathlib import Path


def make_hollow(root: Path, name: str, embodiment: str = "eva_bimanual", **attributes: object) -> Path:
    """Make a folder with the attributes of an episode."""
    path = root / name
    path.mkdir(parents=True)
    told = {"embodiment": embodiment, "total_frames": 4, "fps": 30} | attributes
    metadata = {"attributes": told, "zarr_format": 3, "node_type": "group"}
    (path / "zarr.json").write_text(json.dumps(metadata))
    return path
