"""What every source of recordings promises; a test class inherits it and names a source."""

from abc import ABC, abstractmethod
from pathlib import Path

import pytest

from robotrain.convert.source import SOURCE, Source, convert_source
from robotrain.embodiments.catalog import embodiment_of
from robotrain.episodes.digest import compute_digest
from robotrain.episodes.reader import open_episode
from robotrain.episodes.schema import missing_rows
from robotrain.errors import ExistingPathError, UnknownNameError


class SourceContract(ABC):
    """Inherit, and say how the source is made; it should be small."""

    @pytest.fixture
    @abstractmethod
    def source(self) -> Source:
        """Return a source of at least two episodes."""

    @pytest.fixture
    def converted(self, source: Source, tmp_path: Path) -> Path:
        out = tmp_path / "out"
        convert_source(source, out)
        return out

    def test_every_name_becomes_an_episode_of_that_hash(self, source: Source, converted: Path) -> None:
        assert len(source.names()) >= 2
        assert sorted(path.name for path in converted.iterdir()) == sorted(f"{name}.zarr" for name in source.names())

    def test_names_stay_the_same_and_are_each_there_once(self, source: Source) -> None:
        assert source.names() == source.names()
        assert len(set(source.names())) == len(source.names())

    def test_the_episode_is_what_its_header_says(self, source: Source, converted: Path) -> None:
        for name in source.names():
            header = source.header(name)
            facts = open_episode(converted / f"{name}.zarr").facts
            assert facts.embodiment == header.embodiment
            assert facts.fps == header.fps
            assert facts.task_description == header.task_description
            assert facts.attributes[SOURCE] == header.source

    def test_the_embodiment_is_known_or_describes_itself(self, source: Source, converted: Path) -> None:
        facts = open_episode(converted / f"{source.names()[0]}.zarr").facts
        body = embodiment_of(facts.embodiment, facts.attributes)
        assert set(facts.cameras) <= set(body.cameras)

    def test_every_row_and_every_frame_can_be_read(self, source: Source, converted: Path) -> None:
        for name in source.names():
            episode = open_episode(converted / f"{name}.zarr")
            numeric = [array for array in episode.arrays if array != "annotations" and not array.startswith("images.")]
            assert numeric
            for array in numeric:
                assert len(episode.numbers(array)) == episode.num_frames
                assert not missing_rows(array, episode.numbers(array)).any()
            for camera in episode.cameras:
                width, height = episode.image_size(camera)
                assert episode.image(camera, episode.num_frames - 1).shape == (height, width, 3)

    def test_every_frame_has_a_prompt(self, source: Source, converted: Path) -> None:
        episode = open_episode(converted / f"{source.names()[0]}.zarr")
        assert all(episode.prompts(frame) for frame in (0, episode.num_frames - 1))

    def test_the_same_recordings_give_the_same_bytes(self, source: Source, converted: Path, tmp_path: Path) -> None:
        convert_source(source, tmp_path / "again")
        for name in source.names():
            assert compute_digest(converted / f"{name}.zarr") == compute_digest(tmp_path / "again" / f"{name}.zarr")

    def test_a_second_run_leaves_what_is_there_alone_and_counts_it(self, source: Source, converted: Path) -> None:
        before = {path: path.stat().st_mtime_ns for path in converted.rglob("*")}
        report = convert_source(source, converted)
        assert (report.written, report.skipped_existing, report.frames) == ((), source.names(), 0)
        assert {path: path.stat().st_mtime_ns for path in converted.rglob("*")} == before

    def test_an_episode_of_that_name_from_elsewhere_is_not_taken_for_this_one(
        self, source: Source, converted: Path
    ) -> None:
        path = converted / f"{source.names()[0]}.zarr" / "zarr.json"
        path.write_text(path.read_text().replace('"kind"', '"unkind"'))
        with pytest.raises(ExistingPathError, match="another source"):
            convert_source(source, converted)

    def test_an_unknown_name_is_refused_by_name(self, source: Source) -> None:
        with pytest.raises(UnknownNameError, match="nowhere"):
            source.header("nowhere")
