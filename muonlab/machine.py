"""What this machine has, and what is fast on it: the device, bf16 products, kept memory."""

import ctypes
import math
import os
import platform
import re
from pathlib import Path

import torch
from torch import Tensor

BF16_FROM = 2**16  # entries in a stack of matrices; see `work_dtype`
QUOTA = Path("/sys/fs/cgroup/cpu.max")  # microseconds of work, in so many that pass
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h


def cores() -> int:
    """Returns how many cores this process may use: its affinity and its container say so.

    A container of JupyterHub may have a quota of one core on a machine of a hundred.
    """
    has = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = QUOTA.read_text(encoding="ascii").split()
        return max(1, min(has, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max": no quota
        return has


def pick_device(name: str) -> torch.device:
    """Returns the device of that name; "auto" is the GPU where there is one, else the CPU.

    An Apple GPU is "mps". It computes in float32, as it knows no float64. "auto" leaves it alone:
    nobody has run the course there.

    Raises:
        ValueError: a GPU is named that torch cannot use.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    number = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": torch.backends.mps.is_available()}
    if not (device.index or 0) < number.get(device.type, 0):
        raise ValueError(f"device {name!r} is none that torch can use here; take device='cpu'")
    return device


def device_name(device: torch.device | str = "cpu") -> str:
    """Returns the name under which the GPU or the processor is sold."""
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "mps":
        return f"Apple GPU, {platform.machine()}"
    listing = Path("/proc/cpuinfo")
    text = listing.read_text() if listing.exists() else ""
    sold_as = re.search(r"^model name\s*:\s*(.*\S)", text, re.MULTILINE)
    return sold_as[1] if sold_as else platform.processor() or platform.machine()


def fast_bf16(device: torch.device | str = "cpu") -> bool:
    """Returns whether bf16 products are fast there: on CUDA from 8.0 on; see `CPU_BF16`."""
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return device.type == "cpu" and CPU_BF16


def cpu_bf16() -> bool:
    """Returns whether this CPU multiplies faster in bf16 than in float32.

    With AMX it is 7 times, with AVX-512 BF16 4 times on an AMD EPYC, and half as fast on an Intel
    Xeon whose AMX a virtual machine hides. Others emulate it, 20 to 40 times slower. No clock is
    asked: processes that share a step have to decide alike, on a busy machine, too.
    """
    has = torch.cpu.get_capabilities()
    return has.get("amx_bf16", False) or (has.get("avx512_bf16", False) and "AMD" in device_name())


CPU_BF16 = cpu_bf16()


def work_dtype(dtype: torch.dtype, device: torch.device, entries: int) -> torch.dtype:
    """Returns the dtype in which to multiply a stack of matrices: bf16 only where it is faster.

    float64 stays float64. On a CPU, small stacks stay in float32: measured with AMX, bf16 takes
    twice as long as float32 for one 128×128 matrix, and half as long for twelve of them.

    Args:
        dtype, device, entries: those of the stack, which need not be there yet.
    """
    if dtype == torch.float64:
        return dtype
    large = device.type != "cpu" or entries >= BF16_FROM
    return torch.bfloat16 if large and fast_bf16(device) else torch.float32


def in_float64(t: Tensor) -> Tensor:
    """Returns t in float64, where it is; from an Apple GPU, which knows none, on the CPU."""
    return (t.cpu() if t.device.type == "mps" else t).double()


def keep_freed_memory() -> bool:
    """Tells the C library of Linux to keep freed memory; returns whether it was told.

    By default glibc gives large blocks back to the system, and a fresh block costs a page fault
    for every 4 kB: 50,000 a step for a 6×384 GPT. Without them a training step takes 10 to 35 %
    less time (measured). The process then holds its peak memory to its end. On other systems
    nothing is changed.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(M_MMAP_MAX, 0) and library.mallopt(M_TRIM_THRESHOLD, -1))
