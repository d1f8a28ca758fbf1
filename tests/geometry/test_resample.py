import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from robotrain.errors import GeometryError
from robotrain.geometry.resample import resample, resample_mask, resample_poses
from robotrain.geometry.rotations import matrix_from_quaternion, matrix_from_ypr, quaternion_from_matrix


@pytest.mark.parametrize(("n", "num"), [(10, 100), (30, 100), (45, 100), (100, 45), (7, 7), (2, 3)])
def test_numbers_are_numpys_linear_interpolation(n: int, num: int) -> None:
    values = np.random.default_rng(0).normal(size=(3, n, 2))
    expected = [
        [np.interp(np.linspace(0, 1, num), np.linspace(0, 1, n), values[i, :, d]) for d in range(2)] for i in range(3)
    ]
    np.testing.assert_allclose(resample(values, num), np.moveaxis(np.array(expected), 1, 2), atol=1e-12)


def test_first_and_last_row_are_kept_to_the_bit_and_as_many_rows_are_the_same_rows() -> None:
    values = np.random.default_rng(0).normal(size=(45, 7))
    more = resample(values, 100)
    assert (more[0] == values[0]).all()
    assert (more[-1] == values[-1]).all()
    assert (resample(values, 45) == values).all()


def test_one_row_is_repeated_and_no_row_is_refused() -> None:
    assert (resample(np.ones((1, 3)), 4) == 1).all()
    assert resample(np.arange(6.0).reshape(3, 2), 1).tolist() == [[0.0, 1.0]]
    with pytest.raises(GeometryError, match="resample 0 rows"):
        resample(np.ones((0, 3)), 4)


def test_poses_are_scipys_slerp_however_stored_signs_flip() -> None:
    rng = np.random.default_rng(2)
    quaternions = quaternion_from_matrix(matrix_from_ypr(np.cumsum(rng.normal(scale=0.3, size=(12, 3)), axis=0)))
    poses = np.concatenate([rng.normal(size=(12, 3)), quaternions], axis=-1)
    expected = Slerp(np.linspace(0, 1, 12), Rotation.from_quat(quaternions[:, [1, 2, 3, 0]]))(np.linspace(0, 1, 50))
    flipped = poses.copy()
    flipped[[1, 4, 5, 9], 3:] *= -1
    found = resample_poses(np.stack([poses, flipped]), 50)
    np.testing.assert_allclose(matrix_from_quaternion(found[0, :, 3:]), expected.as_matrix(), atol=1e-9)
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    assert (np.sum(found[:, 1:, 3:] * found[:, :-1, 3:], axis=-1) > 0).all()


def test_poses_without_a_rotation_are_refused() -> None:
    with pytest.raises(GeometryError, match="no rotation"):
        resample_poses(np.zeros((2, 7)), 5)


def test_a_new_row_is_real_only_if_both_rows_it_is_made_of_are() -> None:
    mask = np.array([True, True, False, True])
    assert resample_mask(mask, 7).tolist() == [True, True, True, False, False, False, True]
    assert resample_mask(mask, 4).tolist() == mask.tolist()


def test_a_number_that_is_not_finite_stays_between_its_neighbours() -> None:
    values = np.array([[0.0], [np.nan], [2.0], [3.0]])
    assert np.isnan(resample(values, 7)).ravel().tolist() == [False, True, True, True, False, False, False]


@pytest.mark.parametrize("leading", [(), (1,), (8,), (19,), (5, 7), (0,)])
def test_many_windows_at_once_are_what_each_is_alone(leading: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).normal(size=(*leading, 30, 6))
    values[..., 11, 2] = np.nan
    found = resample(values, 100)
    assert found.shape == (*leading, 100, 6)
    for place in np.ndindex(leading):
        np.testing.assert_array_equal(found[place], resample(values[place], 100))
