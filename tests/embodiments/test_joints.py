import pytest

from robotrain.embodiments import joints
from robotrain.embodiments.catalog import embodiment_of
from robotrain.embodiments.layout import Field, Layout
from robotrain.episodes import schema
from robotrain.errors import LayoutError, UnknownNameError

STATE = Layout((Field("arm", "joint", 3, "", "rad"), Field("hand", "joint", 1, "", "")))
ACTIONS = Layout((Field("arm", "joint", 3, "", "rad"),))
ATTRIBUTES = {
    "fields": {"obs_joints": STATE.to_plain(), "cmd_joints": ACTIONS.to_plain()},
    "features": {"images.top": {"dtype": "jpeg"}, "images.front_1": {"dtype": "jpeg"}, "obs_joints": {}},
}


def test_a_robot_is_built_from_its_own_description() -> None:
    robot = embodiment_of("toy_arm", ATTRIBUTES)
    assert robot.default_mode == "joints"
    assert robot.mode(None).actions == ACTIONS
    assert robot.mode(None).state == STATE
    assert robot.cameras == ("front_1", "top")


def test_a_front_camera_comes_first_whatever_the_others_are_called() -> None:
    cameras = ("cam_left_wrist", "cam_front", "front_1", "a_top")
    features = {f"images.{camera}": {} for camera in cameras}
    robot = embodiment_of("toy_arm", {**ATTRIBUTES, "features": features})
    assert robot.cameras == ("front_1", "cam_front", "a_top", "cam_left_wrist")


def test_a_robot_without_a_description_is_unknown() -> None:
    with pytest.raises(UnknownNameError, match=r"'toy_arm'.*no attribute 'fields'"):
        embodiment_of("toy_arm", {})


@pytest.mark.parametrize("array", ["obs_joints", "cmd_joints"])
@pytest.mark.parametrize("fields", [None, [], "arm", ["arm"], [{"name": "arm"}]])
def test_an_incomplete_description_is_refused(array: str, fields: object) -> None:
    attributes = {"fields": {**ATTRIBUTES["fields"], array: fields}}
    with pytest.raises(LayoutError):
        embodiment_of("toy_arm", attributes)


def test_names_agree_with_the_schema_that_writes_them() -> None:
    assert joints.FIELDS_ATTRIBUTE == schema.FIELDS
    assert (joints.STATE_ARRAY, joints.ACTION_ARRAY) == (schema.OBS_JOINTS, schema.CMD_JOINTS)
    assert joints.build_joint_robot(
        "toy_arm", {**ATTRIBUTES, schema.FEATURES: {schema.image_array("top"): {}}}
    ).cameras == ("top",)
