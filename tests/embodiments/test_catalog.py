import pytest

from robotrain.embodiments.catalog import available, embodiment_of
from robotrain.embodiments.embodiment import Embodiment, PolicyInterface
from robotrain.errors import UnknownNameError

WRITTEN = [pytest.param(embodiment_of(name, {}), id=name) for name in available()]


@pytest.mark.parametrize("embodiment", WRITTEN)
def test_every_mode_travels_as_plain_data(embodiment: Embodiment) -> None:
    for mode, layouts in embodiment.modes.items():
        interface = PolicyInterface(
            embodiment=embodiment.name,
            mode=mode,
            actions=layouts.actions,
            state=layouts.state,
            horizon=4,
            seconds=layouts.seconds,
            cameras=embodiment.cameras,
        )
        assert PolicyInterface.from_plain(interface.to_plain()) == interface


@pytest.mark.parametrize("embodiment", WRITTEN)
def test_the_default_mode_is_the_first(embodiment: Embodiment) -> None:
    assert embodiment.mode(None) is next(iter(embodiment.modes.values()))


def test_an_unknown_name_offers_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'eva_bimanual'"):
        embodiment_of("eva_bimanul", {})


def test_an_unknown_mode_names_the_embodiment() -> None:
    with pytest.raises(UnknownNameError, match=r"embodiment 'human_bimanual'.*keypoints_wristframe_6d"):
        embodiment_of("human_bimanual", {}).mode("keypoints")
