"""frazil.torch: programs of PyTorch with changed imports, against PyTorch."""

import linecache
import re
import types

import frazil
import numpy as np
import pytest
from torch_programs import PROGRAMS

torch = pytest.importorskip("torch", reason="python3-torch is not installed")

THEIRS = "import torch, torch.nn as nn, torch.nn.functional as F\n"
OURS = "import frazil.torch as torch, frazil.torch.nn as nn, frazil.torch.nn.functional as F\n"


def executed(header, text, name):
    """The names that the text defines after the imports of `header`."""
    package = "torch" if header is THEIRS else "frazil.torch"
    text = re.sub(r"\btorch_(\w+)", rf"{package}.\1", header + text)
    file = f"<{package} {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)  # torch.jit reads it
    names = {"__name__": "program"}
    exec(compile(text, file, "exec"), names)
    return types.SimpleNamespace(**names)


def close(made, wanted):
    if isinstance(wanted, (tuple, list)) and not isinstance(wanted, torch.Size):
        assert len(made) == len(wanted)
        for one, other in zip(made, wanted):
            close(one, other)
    elif isinstance(wanted, torch.Tensor):
        wanted = wanted.detach().numpy()
        made = made if isinstance(made, np.ndarray) else made.numpy()
        assert made.dtype == wanted.dtype and made.shape == wanted.shape
        np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-5)
    elif isinstance(wanted, float):
        assert abs(made - wanted) < 1e-4 * max(1, abs(wanted))
    else:
        assert type(made)(wanted) == made


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    program = PROGRAMS[name]
    torch.manual_seed(3)
    theirs, ours = executed(THEIRS, program.text, name), executed(OURS, program.text, name)
    their_model, our_model = theirs.make().eval(), ours.make().eval()
    assert list(our_model.state_dict()) == list(their_model.state_dict())
    our_model.load_state_dict(their_model.state_dict())
    for arrays in program.arrays(np.random.default_rng(7)):
        close(ours.use(our_model, *arrays), theirs.use(their_model, *arrays))
