from pathlib import Path

from robotrain.training.callbacks.keeper import point_last_at, prune


def made(folder: Path, *steps: int) -> list[Path]:
    paths = [folder / f"epoch={step // 10:04d}-step={step:07d}.ckpt" for step in steps]
    for path in paths:
        path.write_bytes(b"weights")
    return paths


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_last_is_a_relative_link_that_moves_in_one_step(tmp_path: Path) -> None:
    first, second = made(tmp_path, 10, 20)
    point_last_at(first)
    point_last_at(second)
    assert (tmp_path / "last.ckpt").readlink() == Path(second.name)
    moved = tmp_path.rename(tmp_path.with_name("elsewhere"))
    assert (moved / "last.ckpt").read_bytes() == b"weights"
    assert not [path for path in moved.iterdir() if "partial" in path.name]


def test_pruning_keeps_the_newest(tmp_path: Path) -> None:
    paths = made(tmp_path, 5, 10, 20, 30, 100)
    point_last_at(paths[-1])
    prune(tmp_path, 2)
    assert names(tmp_path) == {paths[3].name, paths[4].name, "last.ckpt"}


def test_pruning_never_takes_what_last_points_at(tmp_path: Path) -> None:
    paths = made(tmp_path, 10, 20, 30, 40)
    point_last_at(paths[0])
    prune(tmp_path, 1)
    assert names(tmp_path) == {paths[0].name, paths[3].name, "last.ckpt"}


def test_fewer_than_to_keep_are_all_kept(tmp_path: Path) -> None:
    paths = made(tmp_path, 10, 20)
    point_last_at(paths[1])
    prune(tmp_path, 5)
    assert len(names(tmp_path)) == 3


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    paths = made(tmp_path, 10, 20)
    (tmp_path / "best-by-hand.ckpt").write_bytes(b"mine")
    point_last_at(paths[1])
    prune(tmp_path, 1)
    assert "best-by-hand.ckpt" in names(tmp_path)
