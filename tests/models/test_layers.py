import torch

from robotrain.models.layers.attention import Attention, AttentionPool
from robotrain.models.layers.naming import module_key
from robotrain.models.layers.values import initialise_module
from robotrain.models.layers.vision import ConvNet, Keypoints
from robotrain.models.layers.words import WordEmbedding, word_rows


def test_attention_is_torch_s_own_formula() -> None:
    torch.manual_seed(0)
    ours = Attention(8, 2)
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    key_value = ours.key_value
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat((ours.query.weight, key_value.weight)))
        theirs.in_proj_bias.copy_(torch.cat((ours.query.bias, key_value.bias)))
        theirs.out_proj.weight.copy_(ours.out.weight)
        theirs.out_proj.bias.copy_(ours.out.bias)
    tokens, context = torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    mask = torch.tensor([[True] * 5, [True, False, True, False, True], [True, True, False, False, False]])
    expected, _ = theirs(tokens, context, context, key_padding_mask=~mask)
    torch.testing.assert_close(ours(tokens, context, mask), expected, rtol=1e-5, atol=1e-6)


def test_a_pool_gives_its_number_of_tokens_from_any_number() -> None:
    pool = AttentionPool(3, 8, 2, dropout=0.0)
    initialise_module(pool)
    assert pool(torch.randn(2, 7, 8)).shape == (2, 3, 8)
    assert pool(torch.randn(2, 1, 8)).shape == (2, 3, 8)


def test_a_keypoint_finds_a_bright_cell_between_minus_one_and_one() -> None:
    keypoints = Keypoints(1, 1)
    with torch.no_grad():
        keypoints.heat.weight.fill_(1.0)
        keypoints.heat.bias.zero_()  # pyright: ignore[reportOptionalMemberAccess]
    features = torch.zeros(2, 1, 4, 8)
    features[0, 0, 0, 0] = features[1, 0, 3, 5] = 10.0
    places, found = keypoints(features)
    torch.testing.assert_close(places[:, 0], torch.tensor([[-0.875, -0.75], [0.375, 0.75]]), rtol=0, atol=1e-4)
    torch.testing.assert_close(found[:, 0, 0], torch.tensor([10.0, 10.0]), rtol=0, atol=1e-3)


def test_convolutions_take_any_size_of_picture() -> None:
    net = ConvNet((4, 8))
    assert net(torch.zeros(2, 3, 72, 96)).shape == (2, 8, 18, 24)
    assert net(torch.zeros(2, 3, 9, 11)).shape == (2, 8, 3, 3)


def test_words_are_read_the_same_in_any_batch() -> None:
    rows, mask = word_rows(("Put the RED cube away!", "", "put"), 64)
    assert mask.sum(1).tolist() == [5, 0, 1]
    alone, _ = word_rows(("put",), 64)
    assert rows[2, 0] == rows[0, 0] == alone[0, 0]
    assert word_rows(("",), 64)[0].shape == (1, 1)
    assert word_rows((" ".join(["word"] * 100),), 64)[0].shape == (1, 32)


def test_the_order_of_words_counts() -> None:
    embed = WordEmbedding(64, 8)
    rows, _ = word_rows(("left right", "right left"), 64)
    tokens = embed(rows)
    assert not torch.allclose(tokens[0].flip(0), tokens[1])


def test_names_of_modules_hold_no_dot_and_stay_apart() -> None:
    names = ("a.b", "a%2Eb", "a-b", "a%b")
    keys = [module_key(name) for name in names]
    assert len(set(keys)) == len(names)
    assert not any("." in key for key in keys)
