# SPDX-License-Identifier: Apache-2.0
"""fn.readers.file: order, shards, epochs, reading, parity with DALI."""

import itertools
import os

import pytest
from helpers.file_readers import dali, labels, one_epoch, reader


def write_ten(folder):
    paths = [folder / f"{i}.bin" for i in range(10)]
    for i, path in enumerate(paths):
        path.write_bytes(bytes([i]) * (i + 1))
    return [str(path) for path in paths]


# For test_contract.py.
SOURCES = {"readers.file": lambda folder: {"files": write_ten(folder), "random_shuffle": True}}


@pytest.fixture
def ten(tmp_path):
    return write_ten(tmp_path)


def test_outputs_are_bytes_and_an_int32_label(ten):
    data, label = reader(files=ten).run()
    assert [d.shape for d in map(data.at, range(4))] == [(1,), (2,), (3,), (4,)]
    assert data.at(3).dtype == "uint8"
    assert data.at(3).tolist() == [3, 3, 3, 3]
    assert label.as_array().dtype == "int32"
    assert label.as_array().tolist() == [[0], [1], [2], [3]]


def test_batches_cross_the_end_of_an_epoch_unless_padded(ten):
    assert labels(reader(files=ten), 4) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1], [2, 3, 4, 5]]
    padded = labels(reader(files=ten, pad_last_batch=True), 4)
    assert padded == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 9, 9], [0, 1, 2, 3]]


def test_reader_meta_describes_the_shards(ten):
    args = {"files": ten, "num_shards": 3, "shard_id": 1}
    assert reader(**args).reader_meta("files") == {
        "epoch_size": 10,
        "epoch_size_padded": 10,
        "number_of_shards": 3,
        "shard_id": 1,
        "pad_last_batch": False,
        "stick_to_shard": False,
    }
    meta = reader(**args, pad_last_batch=True, stick_to_shard=True).reader_meta("files")
    assert (meta["epoch_size"], meta["epoch_size_padded"]) == (10, 12)
    assert meta["pad_last_batch"]
    assert meta["stick_to_shard"]
    assert reader(**args, shuffle_after_epoch=True).reader_meta("files")["stick_to_shard"]


# Samples of the three shards of 10 files under random_shuffle, from DALI 1.35.0.
DALI_SHARDS = [{5, 9, 1}, {6, 7, 2}, {0, 8, 3, 4}]


@pytest.mark.parametrize("stick", [False, True])
@pytest.mark.parametrize("pad", [False, True])
def test_shuffled_epochs_have_the_samples_of_dali_shards(ten, stick, pad):
    for rank in range(3):
        pipe = reader(
            batch_size=1,
            files=ten,
            num_shards=3,
            shard_id=rank,
            random_shuffle=True,
            stick_to_shard=stick,
            pad_last_batch=pad,
            seed=rank,
        )
        stream = [batch[0] for batch in labels(pipe, 60)]
        for epoch in range(12):
            shard = DALI_SHARDS[rank if stick else (rank + epoch) % 3]
            length = 4 if pad else len(shard)
            samples, stream = stream[:length], stream[length:]
            assert set(samples) == shard
            assert samples[len(shard) :] == [samples[len(shard) - 1]] * (length - len(shard))


def test_order_depends_on_seed_and_epoch_only(ten):
    args = {"files": ten, "random_shuffle": True}
    order = labels(reader(**args), 10)
    for threads, depth in itertools.product((1, 4), (1, 5)):
        assert labels(reader(num_threads=threads, depth=depth, **args), 10) == order
    assert labels(reader(initial_fill=1, **args), 10) == order
    assert labels(reader(seed=8, **args), 10) != order
    flat = list(itertools.chain(*order))
    assert flat[:10] != flat[10:20]


def test_shuffling_covers_the_whole_shard(tmp_path):
    # DALI's window of initial_fill samples could not bring the last file to the front.
    (tmp_path / "x").write_bytes(b"x")
    pipe = reader(
        batch_size=1000, files=[str(tmp_path / "x")] * 1000, random_shuffle=True, initial_fill=2
    )
    order = labels(pipe, 1)[0]
    assert sum(abs(i - label) for i, label in enumerate(order)) / 1000 > 250
    assert sum(order[:100]) / 100 == pytest.approx(500, abs=150)


def epochs_of_ranks(files, ranks, **args):
    pipes = [
        reader(batch_size=1, files=files, num_shards=ranks, shard_id=r, pad_last_batch=True, **args)
        for r in range(ranks)
    ]
    length = -(-len(files) // ranks)
    sizes = [(r + 1) * len(files) // ranks - r * len(files) // ranks for r in range(ranks)]
    for _ in range(5):
        parts = [[b[0] for b in labels(pipe, length)] for pipe in pipes]
        yield [part[:size] for part, size in zip(parts, sizes, strict=True)]


def test_shuffle_after_epoch_distributes_all_samples_again(ten):
    epochs = list(epochs_of_ranks(ten, 3, shuffle_after_epoch=True))
    for parts in epochs:
        assert sorted(itertools.chain(*parts)) == list(range(10))
    assert len({frozenset(parts[0]) for parts in epochs}) > 2
    assert epochs == list(epochs_of_ranks(ten, 3, shuffle_after_epoch=True, seed=99))
    other = list(epochs_of_ranks(ten, 3, shuffle_after_epoch=True, shuffle_after_epoch_seed=1))
    assert other != epochs
    assert all(sorted(itertools.chain(*parts)) == list(range(10)) for parts in other)


def test_hints_do_not_change_the_data(ten):
    plain = one_epoch(files=ten)
    for hint in (
        {"read_ahead": True, "prefetch_queue_depth": 3},
        {"read_ahead": True, "prefetch_queue_depth": 2**62},
        {"dont_use_mmap": True},
        {"skip_cached_images": True},
        {"tensor_init_bytes": 0},
        {"bytes_per_sample_hint": 100},
        {"lazy_init": True},
    ):
        assert one_epoch(files=ten, **hint) == plain


def test_large_and_empty_files_are_read_completely(tmp_path):
    large = os.urandom(5_000_000)
    (tmp_path / "large").write_bytes(large)
    (tmp_path / "empty").write_bytes(b"")
    pipe = reader(batch_size=2, files=[str(tmp_path / "large"), str(tmp_path / "empty")])
    data, _ = pipe.run()
    assert bytes(data.at(0)) == large
    assert data.at(1).shape == (0,)


def test_files_are_closed(ten):
    pipe = reader(files=ten, read_ahead=True)
    for _ in range(50):
        pipe.run()
    pipe.close()  # ends all reads
    links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    assert not {os.readlink(link) for link in links if os.path.islink(link)} & set(map(str, ten))


@pytest.mark.dali
def test_shards_are_those_of_dali(tmp_path, dali_python):
    """Order without shuffling, sets of samples with it."""
    (tmp_path / "x").write_text("x")
    cases = []
    for size, shards in ((11, 3), (16, 5), (1000, 7)):
        for stick, shuffle, after in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1)):
            cases.append(
                {
                    "files": [str(tmp_path / "x")] * size,
                    "num_shards": shards,
                    "shard_id": shards - 2,
                    "stick_to_shard": bool(stick),
                    "random_shuffle": bool(shuffle),
                    "shuffle_after_epoch": bool(after),
                }
            )
    for args, (_, pairs) in zip(cases, dali(dali_python, [(c, 700) for c in cases]), strict=True):
        theirs = [label for _, label in pairs]
        ours = [batch[0] for batch in labels(reader(batch_size=1, **args), 700)]
        if not args["random_shuffle"] and not args["shuffle_after_epoch"]:
            assert ours == theirs
        size, shards, shard = len(args["files"]), args["num_shards"], args["shard_id"]
        position = 0
        while position < 700 and args["random_shuffle"]:
            end = position + (shard + 1) * size // shards - shard * size // shards
            if end <= 700:
                assert set(ours[position:end]) == set(theirs[position:end])
                assert len(set(ours[position:end])) == end - position
            position = end
            shard = shard if args["stick_to_shard"] else (shard + 1) % shards
