"""An Apple GPU, without one: to which device and dtype a name leads, and a step that is there.

Tensors on it hold no numbers here (`FakeTensorMode`); their dtypes are those that a Mac would meet.
"""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from muonlab import Muon, NorMuon, cli, doctor, machine
from muonlab.optim import orthogonalize
from muonlab.optim.stacks import launches_cost
from muonlab.training.build import picks_bf16
from muonlab.training.config import TrainConfig

MPS = torch.device("mps")


@pytest.fixture
def mac(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)


class Dtypes(TorchDispatchMode):
    """Collects the dtypes of all tensors that are made on the Apple GPU."""

    def __init__(self):
        super().__init__()
        self.made = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        tensors = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
        self.made |= {t.dtype for t in tensors if t.device.type == "mps"}
        return result


class Indexed(TorchFunctionMode):
    """Indexes by operators, as brackets would ask this torch for a device that it does not know."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is not torch.Tensor.__getitem__:
            return function(*args, **(kwargs or {}))
        t, index = args
        index = index if isinstance(index, tuple) else (index,)
        axis = 0
        for i in index:
            if i is None:
                t, axis = t.unsqueeze(axis), axis + 1
            elif i is Ellipsis:
                axis = t.ndim - (len(index) - 1 - index.index(Ellipsis))
            elif isinstance(i, slice):
                t, axis = torch.ops.aten.slice(t, axis, i.start, i.stop), axis + 1
            else:
                t = t.select(axis, i)
        return t


@pytest.mark.parametrize("make", [Muon, NorMuon])
@pytest.mark.parametrize(
    "options",
    [{}, {"adjust_lr_fn": "update_rms", "ns_norm": "schatten4"}, {"ns_coefficients": "exact"}],
)
def test_a_step_there_takes_float32_alone(monkeypatch, make, options):
    monkeypatch.setattr(orthogonalize, "check_matrix", lambda G: None)  # it reads numbers
    with FakeTensorMode(), Indexed():
        shapes = [(8, 5), (8, 5), (8, 64), (3, 8, 5), (24, 8)]
        *params, fused = [nn.Parameter(torch.empty(shape, device=MPS)) for shape in shapes]
        vector = nn.Parameter(torch.empty(5, device=MPS))
        for p in (*params, fused, vector):
            p.grad = torch.empty_like(p)
        groups = [{"params": params}, {"params": [fused], "heads": 3}]
        optimizer = make([*groups, {"params": [vector], "rule": "adamw"}], **options)
        for group in optimizer.param_groups:
            group["capturable"] = True  # a step that reads no numbers
        with Dtypes() as dtypes:
            optimizer.step()
    assert dtypes.made == {torch.float32, torch.bool}


def test_float64_is_computed_on_the_cpu():
    with FakeTensorMode():
        t = torch.empty(3, 4, device=MPS)
        assert machine.in_float64(t).device.type == "cpu"
        assert machine.in_float64(t).dtype == torch.float64
    here = torch.ones(2)
    assert machine.in_float64(here).device == here.device
    assert machine.in_float64(here.double()).dtype == torch.float64


def test_products_there_are_in_float32_however_large():
    assert machine.work_dtype(torch.float32, MPS, 2**30) == torch.float32
    assert machine.work_dtype(torch.bfloat16, MPS, 2**30) == torch.float32
    assert not machine.fast_bf16("mps")
    assert not picks_bf16(TrainConfig(size="paper", device="mps"), MPS)
    assert not launches_cost(MPS), "or norms would be taken in float64"


def test_the_name_leads_to_the_device_where_there_is_one(mac):
    assert machine.pick_device("mps") == MPS
    assert machine.device_name("mps").startswith("Apple GPU, ")
    assert machine.pick_device("auto").type != "mps", "nobody has tried it"
    assert TrainConfig(device="mps").command() == "muonlab train --device mps"


def test_a_missing_apple_gpu_is_named(monkeypatch, capsys):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    message = "device 'mps' is none that torch can use here; take device='cpu'"
    with pytest.raises(ValueError, match=message):
        machine.pick_device("mps")
    assert cli.main(["train", "--device", "mps", "--corpus", "facts-3"]) == 2
    assert message in capsys.readouterr().err


def test_the_doctor_says_that_nobody_has_tried_it(monkeypatch, mac):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "`--device mps` takes it, in float32, which is not tested" in doctor._gpu().value
    assert not doctor._gpu().advice
