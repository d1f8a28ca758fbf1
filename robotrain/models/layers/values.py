"""Starting values: every parameter of a freshly built structure gets one here.

Knows kinds of layers; refuses to know policies. Structures may come from the meta device, so nothing relies on what a
constructor left behind.
"""

from torch import nn

TOKEN_STD = 0.02


def initialise_module(module: nn.Module) -> None:
    """Give every parameter under a module its starting value, from torch's global generator.

    Linear maps and convolutions: Xavier uniform, zero bias (Glorot and Bengio 2010). Norms: one and zero. Tables of
    words: standard normal. Free parameters (learned tokens and queries): normal with deviation 0.02.
    """
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.LayerNorm):
            nn.init.ones_(part.weight)
            nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight)
        else:
            for parameter in part.parameters(recurse=False):
                nn.init.normal_(parameter, std=TOKEN_STD)
