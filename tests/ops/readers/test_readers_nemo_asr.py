# SPDX-License-Identifier: Apache-2.0
"""fn.readers.nemo_asr: manifests, parts of files, order, parity with DALI, errors."""

from __future__ import annotations

import json
import resource
import signal as signal_module
import wave
from pathlib import Path

import numpy as np
import pytest
from helpers.record_files import dali_samples, pipeline, samples

from torchdali import PipelineLoader, fn, pipeline_def, types
from torchdali.errors import ArgumentError, DataError, FileError

RATE = 8000


def signal(frames: int, channels: int = 1) -> np.ndarray:
    """Returns 16-bit samples, each of which tells where it is from."""
    return (np.arange(frames * channels) * 7 % 30011).astype("<i2").reshape(frames, channels)


def write_wav(path: Path, frames: int, channels: int = 1, rate: int = RATE) -> str:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(signal(frames, channels).tobytes())
    return str(path)


def write_manifest(path: Path, *lines: str | dict) -> str:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_bytes("".join(text + "\n" for text in texts).encode())
    return str(path)


@pytest.fixture(scope="module")
def wav(tmp_path_factory):
    """A second of audio."""
    return write_wav(tmp_path_factory.mktemp("audio") / "a b.wav", RATE)


def write_clips(folder: Path) -> dict[str, object]:
    """Returns the arguments of a reader of ten clips of different files and lengths."""
    lines = []
    for i in range(10):
        path = write_wav(folder / f"{i}.wav", 100 * (i + 3), 1 + i % 2, RATE * (1 + i % 3))
        duration = round(100 * (i + 3) / (RATE * (1 + i % 3)), 6)
        lines.append({"audio_filepath": path, "duration": duration, "text": f"clip {i}"})
    one = write_manifest(folder / "one.json", *lines[:6])
    return {"manifest_filepaths": [one, write_manifest(folder / "two.json", *lines[6:])]}


# For test_contract.py.
SOURCES = {
    "readers.nemo_asr": lambda folder: {
        **write_clips(folder),
        "random_shuffle": True,
        "bucket_by": "duration",
        "bucket_window": 2,
    }
}


def read(manifest, count=None, **args):
    """Returns the outputs of each sample, by default of one epoch, as arrays."""
    pipe = pipeline("nemo_asr", manifest_filepaths=manifest, **args)
    count = pipe.reader_meta("reader")["epoch_size"] if count is None else count
    return [[np.asarray(out.at(0)) for out in pipe.run()] for _ in range(count)]


def texts(manifest, count=None, **args):
    found = read(manifest, count, read_sample_rate=False, **args)
    return [bytes(text).decode() for _, text, *_ in found]


# -- what is read


def test_a_clip_has_audio_rate_text_and_number(wav, tmp_path):
    entry = {"audio_filepath": wav, "offset": 0.25, "duration": 0.5, "text": "hällo"}
    manifest = write_manifest(tmp_path / "m.json", {"audio_filepath": wav}, entry)
    whole, (audio, rate, text, number) = read(manifest, read_idxs=True)
    assert whole[0].shape == (RATE,)
    assert whole[2].shape == (0,)
    assert audio.dtype == np.float32
    assert np.array_equal(audio, signal(RATE)[2000:6000, 0] / np.float32(32768))
    assert (rate.dtype, rate.shape, rate.item()) == (np.float32, (), RATE)
    assert (text.dtype, bytes(text).decode()) == (np.uint8, "hällo")
    assert (number.dtype, number.tolist()) == (np.int64, [1])
    assert len(read(manifest, read_sample_rate=False, read_text=False)[0]) == 1


def test_channels_and_types(tmp_path):
    path = write_wav(tmp_path / "a.wav", 300, 2)
    manifest = write_manifest(tmp_path / "m.json", {"audio_filepath": path})
    values = signal(300, 2).astype(float)
    ((audio, *_),) = read(manifest, downmix=False, dtype=types.INT16)
    assert np.array_equal(audio, values)
    ((audio, *_),) = read(manifest)
    assert np.allclose(audio, values.mean(1) / 32768, atol=1e-7)
    ((audio, rate, _),) = read(manifest, sample_rate=2 * RATE)
    assert (audio.shape, rate.item()) == ((600,), RATE)  # the rate of the file


def test_texts_are_unescaped(wav, tmp_path):
    path = wav.replace("/", "\\/")
    manifest = write_manifest(
        tmp_path / "m.json",
        f'{{"audio_filepath":"{path}","text":"\\u00e9\\ud83d\\ude00 \\"\\n\\u0000z"}}',
        f'{{"t\\u0065xt":"a","text":"b","x":{{"text":["c"]}},"audio_filepath":"{path}"}}',
        "  ",
        f'\t{{"audio_filepath":"{path}","text":null,"duration":null,"offset":null}}\r',
    )
    assert texts(manifest) == ['é😀 "\n\0z', "b", ""]
    Path(manifest).write_bytes(b"\xef\xbb\xbf" + Path(manifest).read_bytes().rstrip())
    assert len(texts(manifest)) == 3


def test_names_are_relative_to_the_working_directory(wav, tmp_path, monkeypatch):
    manifest = write_manifest(tmp_path / "m.json", {"audio_filepath": Path(wav).name, "text": "x"})
    monkeypatch.chdir(Path(wav).parent)
    assert texts(manifest) == ["x"]


def test_a_long_manifest_is_read_in_parts(wav, tmp_path):
    # Lines of any length, one of which is longer than a part.
    lengths = np.random.default_rng(1).integers(0, 4000, 2000)
    lengths[700] = 3_000_000
    expected = [str(i) + "x" * int(n) for i, n in enumerate(lengths)]
    lines = [{"audio_filepath": wav, "duration": 0, "text": text} for text in expected]
    manifests = [
        write_manifest(tmp_path / "a.json", *lines[:1500]),
        write_manifest(tmp_path / "empty.json"),
        write_manifest(tmp_path / "b.json", *lines[1500:]),
    ]
    assert texts(manifests) == expected
    found = read(manifests, read_idxs=True)
    assert [sample[3].item() for sample in found] == [*range(1500), *range(500)]
    write_manifest(tmp_path / "b.json", *lines[1500:1900], '{"text": "x"}', *lines[1900:])
    with pytest.raises(DataError, match=r'b\.json", line 401, .*no "audio_filepath"'):
        read(manifests)


def test_clips_are_left_out_by_their_durations(wav, tmp_path):
    lines = [{"audio_filepath": wav, "duration": d, "text": str(d)} for d in (0.1, 0.3, 0.7, 1)]
    manifest = write_manifest(tmp_path / "m.json", *lines, {"audio_filepath": wav, "text": "none"})
    assert texts(manifest, min_duration=0.3) == ["0.3", "0.7", "1"]
    assert texts(manifest, max_duration=0.7) == ["0.1", "0.3", "0.7", "none"]
    assert texts(manifest, min_duration=-1, max_duration=0) == ["0.1", "0.3", "0.7", "1", "none"]
    with pytest.raises(DataError, match="there are no clips in 1 manifests"):
        read(manifest, min_duration=2)


@pytest.mark.parametrize("lazy_init", [False, True])
def test_epochs_and_shards(tmp_path, lazy_init):
    args = write_clips(tmp_path)["manifest_filepaths"]
    every = [f"clip {i}" for i in range(10)]
    assert texts(args, lazy_init=lazy_init) == every
    shuffled = texts(args, 10, random_shuffle=True, lazy_init=lazy_init)
    assert shuffled != every
    assert sorted(shuffled) == every
    assert texts(args, 5, num_shards=2, shard_id=1) == every[5:]
    padded = texts(args, 5, num_shards=3, stick_to_shard=True, pad_last_batch=True)
    assert padded == ["clip 0", "clip 1", "clip 2", "clip 2", "clip 0"]


def test_batches_of_like_duration(wav, tmp_path, keep_random_state):
    durations = np.random.default_rng(3).permutation(64) / 64
    lines = [{"audio_filepath": wav, "duration": d} for d in durations]
    args = {"manifest_filepaths": write_manifest(tmp_path / "m.json", *lines)}

    @pipeline_def(batch_size=8, num_threads=2, device_id=None, seed=3)
    def clips(**options):
        return fn.readers.nemo_asr(**args, read_text=False, **options)[0]

    frames = []
    for batch in PipelineLoader(clips, ragged="list", bucket_by="duration", shuffle=True, seed=3):
        lengths = sorted(len(clip) for clip in batch)
        assert lengths[-1] - lengths[0] == 7 * RATE // 64
        frames += lengths
    assert sorted(frames) == [i * RATE // 64 for i in range(64)]
    write_manifest(tmp_path / "m.json", *lines, {"audio_filepath": wav})
    with pytest.raises(DataError, match=r'"duration", but the entry of ".*" in a manifest has no'):
        read(**{"manifest": args["manifest_filepaths"]}, bucket_by="duration")


def test_a_checkpoint_resumes(tmp_path):
    args = {**write_clips(tmp_path), "random_shuffle": True}

    def make(checkpoint=None):
        @pipeline_def(batch_size=3, num_threads=1, device_id=None, seed=3)
        def define():
            return fn.readers.nemo_asr(**args)[2]

        pipe = define(enable_checkpointing=True, checkpoint=checkpoint)
        pipe.build()
        return pipe

    def following(pipe):
        return [bytes(text) for _ in range(5) for text in map(np.asarray, pipe.run()[0])]

    pipe = make()
    for _ in range(4):
        pipe.run()
    state = pipe.checkpoint()
    assert following(make(state)) == following(pipe)


# -- parity


@pytest.mark.dali
def test_like_dali(dali_python, wav, tmp_path):
    random = np.random.default_rng(7)
    parts = [
        {"offset": float(random.uniform(0, 1)), "duration": round(float(random.uniform(0, 1)), d)}
        for d in (1, 2, 3, 6, 9) * 8
    ]
    edges = [
        *({"duration": d} for d in (0, 5, -1, 0.29, 1.5 / RATE)),
        *({"offset": o} for o in (0, 1, -0.5, 1.8 / RATE)),
        {"offset": 0.9, "duration": 0.5},
        {"offset": -0.5, "duration": 0.5},
        {"text": "  é😀 \\u0041\t"},
        {"text": ""},
        {"text": "a", "duration": 1e-1, "x": {"text": [None, True, {"duration": 3}]}},
    ]
    many = write_manifest(
        tmp_path / "parts.json", *({"audio_filepath": wav, **one} for one in [*parts, *edges])
    )
    clips = write_clips(tmp_path)
    cases = [
        {"manifest_filepaths": many},
        *(
            {**clips, **args}
            for args in (
                {},
                {"read_idxs": True, "min_duration": 0.06},
                {"read_sample_rate": False, "read_text": False, "max_duration": 0.06},
                {"downmix": False},
                {"dtype": int(types.INT16), "read_text": False},
                {"dtype": int(types.INT32), "downmix": False},
                {"num_shards": 3, "shard_id": 1, "read_idxs": True},
                {"sample_rate": 0.0, "quality": 3.0},
            )
        ),
    ]
    ours = [
        samples(
            "nemo_asr", **{k: types.DALIDataType(v) if k == "dtype" else v for k, v in c.items()}
        )
        for c in cases
    ]
    theirs = dali_samples(
        dali_python,
        [("nemo_asr", case) for case in cases],
    )
    for case, own, expected in zip(cases, ours, theirs, strict=True):
        assert own == expected, case


@pytest.mark.dali
def test_resampled_like_dali(dali_python, tmp_path):
    case = {**write_clips(tmp_path), "sample_rate": 11025.0}
    (expected,) = dali_samples(dali_python, [("nemo_asr", case)])
    for own, other in zip(samples("nemo_asr", **case), expected, strict=True):
        audio, reference = (
            np.frombuffer(bytes.fromhex(one[0][2]), np.float32) for one in (own, other)
        )
        # DALI's positions are up to 1e-3 samples off.
        assert np.allclose(audio, reference, rtol=0, atol=1e-3 * abs(reference).max())
        assert own[1:] == other[1:]


# -- errors


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[1, 2]", "column 1: expected an object"),
        ("{'audio_filepath': 'a.wav'}", "column 2: expected a key in quotes"),
        ('{"audio_filepath": "a.wav", "text": ', "the text ends here"),
        ('{"audio_filepath": "a.wav"} x', "expected the end of the text, got: x"),
        ('{"text": "x"}', 'the object has no "audio_filepath"'),
        ('{"audio_filepath": ""}', 'the object has no "audio_filepath"'),
        ('{"audio_filepath": 5}', "expected a string, got: 5"),
        ('{"audio_filepath": "a.wav", "text": 5}', "expected a string, got: 5"),
        ('{"audio_filepath": "a.wav", "duration": "1"}', "expected a number"),
        ('{"audio_filepath": "a.wav", "duration": NaN}', "expected a value, got: NaN"),
        ('{"audio_filepath": "a.wav", "offset": true}', "expected a number, got: true"),
        ('{"audio_filepath": "a.wav", "duration": 1e999}', "too large|range"),
    ],
)
def test_a_bad_line_is_named(wav, tmp_path, line, text):
    manifest = write_manifest(tmp_path / "m.json", {"audio_filepath": wav}, "", line)
    with pytest.raises(DataError, match=rf'm\.json", line 3, (?s:.)*(?:{text})'):
        read(manifest)


def test_bad_files_are_named(wav, tmp_path):
    with pytest.raises(FileError, match=r"absent\.json"):
        read(str(tmp_path / "absent.json"))
    with pytest.raises(ArgumentError, match="`manifest_filepaths` is an empty list"):
        read([])
    with pytest.raises(DataError, match="there are no clips"):
        read(write_manifest(tmp_path / "empty.json"))
    absent = {"audio_filepath": str(tmp_path / "absent.wav")}
    with pytest.raises(FileError, match=r"absent\.wav"):
        read(write_manifest(tmp_path / "m.json", absent))
    (tmp_path / "text.wav").write_text("no audio")
    no_audio = {"audio_filepath": str(tmp_path / "text.wav")}
    with pytest.raises(DataError, match=r'(?s)not audio.*source ".*text\.wav"'):
        read(write_manifest(tmp_path / "m.json", no_audio))
    late = {"audio_filepath": wav, "offset": 1.5}
    with pytest.raises(ArgumentError, match=r"(?s)`offset` is 1\.5 s, but the file ends at 1 s"):
        read(write_manifest(tmp_path / "m.json", late))


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"dtype": types.UINT8}, "`dtype` is uint8, expected float32, int16 or int32"),
        ({"quality": 101}, "quality.*101"),
        ({"bucket_by": "size"}, '`bucket_by` is "size", and this reader has no such lengths'),
    ],
)
def test_arguments_that_cannot_work_are_errors(wav, tmp_path, args, text):
    manifest = write_manifest(tmp_path / "m.json", {"audio_filepath": wav})
    with pytest.raises(Exception, match=text):
        read(manifest, **args)


def test_normalize_text_has_no_effect(wav, tmp_path):
    manifest = write_manifest(tmp_path / "m.json", {"audio_filepath": wav, "text": "A b"})
    with pytest.warns(DeprecationWarning, match="normalize_text"):
        assert texts(manifest, normalize_text=True) == ["A b"]


def page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def test_a_slice_of_a_long_file_touches_little_of_it(tmp_path):
    path = tmp_path / "long.wav"
    write_wav(path, 1000)
    header = bytearray(path.read_bytes()[:44])
    size = 1 << 30  # of a sparse file
    header[4:8] = (size + 36).to_bytes(4, "little")
    header[40:44] = size.to_bytes(4, "little")
    with path.open("wb") as file:
        file.write(header)
        file.truncate(44 + size)
    entry = {"audio_filepath": str(path), "offset": 60000.0, "duration": 0.01}
    manifest = write_manifest(tmp_path / "m.json", entry)
    read(manifest)
    # Lightning does this after fit(), with all handlers that are not Python's. Files that cannot be
    # mapped are read as a whole.
    signal_module.signal(signal_module.SIGBUS, signal_module.SIG_DFL)
    before = page_faults()
    ((audio, *_),) = read(manifest)
    assert audio.shape == (80,)
    assert page_faults() - before < 300  # 512 huge pages are a gigabyte
