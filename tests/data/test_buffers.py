import gc
import pickle

import torch

from robotrain.data.buffers import Buffers


def test_memory_is_given_out_again_only_once_nothing_refers_to_it() -> None:
    buffers = Buffers()
    first = buffers.empty((4, 5, 3))
    place = first.data_ptr()
    part = first[1:]
    part.fill_(7)
    del first
    second = buffers.empty((4, 5, 3))
    assert second.data_ptr() != place
    second.fill_(0)
    assert (part == 7).all()
    del part
    gc.collect()
    assert buffers.empty((5, 4, 3)).data_ptr() == place  # of the same number of bytes


def test_a_numpy_view_keeps_the_memory_too() -> None:
    buffers = Buffers()
    tensor = buffers.empty((6,))
    pixels = tensor.numpy()
    pixels[:] = 3
    del tensor
    buffers.empty((6,)).fill_(0)
    assert (pixels == 3).all()


def test_no_more_is_kept_than_was_in_use_at_one_time_and_nothing_of_another_size() -> None:
    buffers = Buffers()
    for _ in range(5):
        held = [buffers.empty((8,)) for _ in range(2)]
        del held
    assert len(buffers._idle) == 2
    other = buffers.empty((9,))
    assert buffers._idle == []
    assert (other.shape, other.dtype) == ((9,), torch.uint8)


def test_memory_does_not_travel_to_another_process() -> None:
    buffers = Buffers()
    buffers.empty((1 << 20,))
    assert len(pickle.dumps(buffers)) < 200
