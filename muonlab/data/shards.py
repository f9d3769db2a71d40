"""Read shards of tokens in the format of llm.c, such as the public FineWeb ones.

A shard is a header of 256 little-endian int32, of which the first three count (magic 20240520,
version 1, number of tokens), then that many little-endian uint16, the tokens. In shards that this
module writes the fourth is the size of the vocabulary; where it is 0, the tokens are GPT-2's.
Sources: karpathy/llm.c, dev/data/data_common.py, and the dataset kjj0/fineweb10B-gpt2.
"""

from hashlib import sha256
from pathlib import Path

import huggingface_hub
import numpy as np

from muonlab import checks
from muonlab.data.task import number_in
from muonlab.files import replace_file

REPOSITORY = "kjj0/fineweb10B-gpt2"
REVISION = "889765ea1f903759787add96995d81171b632d0c"  # its commit, by which all get the same bytes
MAGIC, VERSION, HEADER = 20240520, 1, 256 * 4  # the last in bytes
GPT2_WORDS = 50_257  # GPT-2's; its last token ends a document
GPT2_END = GPT2_WORDS - 1
TRAINING, HELD_OUT = "fineweb_train_000001.bin", "fineweb_val_000000.bin"
SHARD_TOKENS, PUBLISHED = 100_000_000, 103  # in a training shard of FineWeb, and how many there are


def training_names(name: str) -> list[str]:
    """Returns the first shard for "fineweb", the first N for "fineweb-N"; errors as `number_in`."""
    count = number_in(name, 1, PUBLISHED, usual=1)
    return [f"fineweb_train_{number + 1:06d}.bin" for number in range(count)]


def download(name: str) -> Path:
    """Returns the path of a FineWeb shard; it is downloaded when the machine does not have it.

    `huggingface_hub` keeps it in its own cache, and resumes a download that was broken off.

    Raises:
        OSError: no network, no room for its 200 MB in the folder HF_HOME, or no right to write.
    """
    fetch = huggingface_hub.hf_hub_download
    try:
        return Path(fetch(REPOSITORY, name, repo_type="dataset", revision=REVISION))
    except Exception as error:  # of many kinds, from several libraries
        message = f"expected to download {name} of {REPOSITORY}, got {checks.short(error)}"
        raise OSError(f'{message}; load_corpus("docs") needs neither network nor room') from error


def find(folder: Path) -> tuple[list[Path], list[Path]]:
    """Returns the training shards and the held-out ones in a folder, in order of name.

    Where one of the two kinds is missing, it raises FileNotFoundError.
    """
    training, held_out = (sorted(folder.glob(f"*_{x}_[0-9]*.bin")) for x in ("train", "val"))
    if not (training and held_out):
        raise FileNotFoundError(f"expected shards like {TRAINING} and {HELD_OUT} in {folder}")
    return training, held_out


def write_shard(tokens: np.ndarray, vocabulary: int, path: Path) -> None:
    """Writes tokens (n,) as a shard; what was there stays until the new file is whole."""
    for end in (tokens.min(), tokens.max()):  # a token has two bytes, and no sign
        checks.number("a token", end, 0, min(vocabulary, 2**16), whole=True)
    header = np.zeros(HEADER // 4, "<i4")
    header[:4] = MAGIC, VERSION, len(tokens), vocabulary
    replace_file(path, header.tobytes() + tokens.astype("<u2").tobytes())


def vocabulary(paths: list[Path]) -> int:
    """Returns the size of the vocabulary that the shards share; else raises ValueError."""
    sizes = {int(np.fromfile(path, "<i4", 4)[3]) or GPT2_WORDS for path in paths}
    if len(sizes) > 1:
        raise ValueError(f"expected shards of one vocabulary, got {sorted(sizes)}: keep one kind")
    return sizes.pop()


def read_shards(paths: list[Path]) -> np.ndarray:
    """Returns the tokens of the shards, one after another: (tokens,) int32."""
    return np.concatenate([read_shard(path).astype(np.int32) for path in paths])


def read_shard(path: Path) -> np.ndarray:
    """Returns the tokens of one shard, read from disk as they are used: (tokens,) uint16.

    Raises:
        ValueError: not a shard, one of another version, one of another length than its header
            says, or a token beyond its vocabulary.
    """
    size = path.stat().st_size
    magic, version, count = np.fromfile(path, "<i4", 3).tolist() if size >= HEADER else (0, 0, 0)
    if (magic, version, size) != (MAGIC, VERSION, HEADER + 2 * count) or not count:
        raise ValueError(f"{path} is no whole shard of version {VERSION}: download it again")
    tokens = np.memmap(path, "<u2", "r", offset=HEADER, shape=(count,))
    if tokens.max() >= (words := vocabulary([path])):
        raise ValueError(f"expected tokens below {words:,} in {path}, got {tokens.max():,}")
    return tokens


def digest(paths: list[Path]) -> str:
    """Returns one sha256 for the shards, from their bytes in this order."""
    total = sha256()
    for path in paths:
        total.update(np.memmap(path, mode="r").data)
    return total.hexdigest()
