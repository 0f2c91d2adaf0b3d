# SPDX-License-Identifier: Apache-2.0
"""Trains a small CNN on the ten spoken digits: from audio files to log-mel features to batches.

Without --data, it first makes 1,200 recordings with a formant synthesizer: speakers of different
pitch, vocal tract and speed, in rooms with reverberation, noise and at any level. They are WAV
files with manifests in NeMo's format, in a temporary folder. The network reaches at least 95 % on
speakers that it has not heard, within a minute on two cores. A sheet of augmented spectrograms, as
the network sees them, is written to out/spectrograms.png.

With --data, it trains on the recordings of DIR/train.json and DIR/test.json, whose texts are the
classes.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import tempfile
import time
import wave
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import nn

from torchdali import PipelineLoader, fn, pipeline_def

RATE = 16000
ROWS = 64  # mel filters
STEP = 160  # 10 ms
SILENCE_DB = -80.0

# Frequencies of the first three formants in Hz, approximately those of a man (Peterson and Barney,
# "Control methods used in a study of the vowels", 1952); and for consonants, the band of the noise.
VOICED = {
    "iy": (270, 2290, 3010),
    "ih": (390, 1990, 2550),
    "eh": (530, 1840, 2480),
    "aa": (730, 1090, 2440),
    "ao": (570, 840, 2410),
    "ah": (640, 1190, 2390),
    "uw": (300, 870, 2240),
    "oh": (450, 880, 2300),
    "r": (330, 1060, 1380),
    "w": (300, 610, 2200),
    "n": (250, 1400, 2500),
    "v": (300, 1100, 2300),
}
NOISE = {"s": (4200, 7500), "f": (1500, 7000), "th": (1800, 7500), "k": (1300, 2600)}
NOISE |= {"t": (3000, 6500), "z": (4000, 7500), "v": (1500, 6000)}
LOUDNESS = {"s": 0.25, "f": 0.06, "th": 0.05, "k": 0.3, "t": 0.3, "z": 0.15, "v": 0.04}
STOPS = {"k", "t"}
WORDS = {
    "zero": "z iy r oh uw",
    "one": "w ah n",
    "two": "t uw",
    "three": "th r iy",
    "four": "f ao r",
    "five": "f aa ih v",
    "six": "s ih k s",
    "seven": "s eh v ah n",
    "eight": "eh ih t",
    "nine": "n aa ih n",
}


def speak(word: str, random: np.random.Generator) -> np.ndarray:
    """Returns a word as a speaker of random voice says it, float32."""
    tract = random.uniform(0.85, 1.2)  # scales formants: men, women, children
    pitch = 110 * tract ** random.uniform(2, 4) * random.uniform(0.85, 1.15)
    sounds = WORDS[word].split()
    lengths = random.uniform(0.7, 1.4, len(sounds)) * random.uniform(0.07, 0.13)
    ends = np.cumsum(lengths)
    t = (np.arange(int(ends[-1] * RATE)) / RATE).astype(np.float32)
    middles = ends - lengths / 2

    # Voice: harmonics of the pitch, whose amplitudes are those of three resonances.
    known = [(VOICED[s], m) for s, m in zip(sounds, middles, strict=True) if s in VOICED]
    times = [m for _, m in known]
    formants = [
        np.float32(tract * random.uniform(0.95, 1.05))
        * np.interp(t, times, [f[i] for f, _ in known]).astype(np.float32)
        for i in range(3)
    ]
    voicing = np.interp(t, middles, [float(s in VOICED) for s in sounds])
    contour = np.float32(pitch) * (1.1 - 0.25 * t / t[-1] + 0.02 * np.sin(2 * np.pi * 5 * t))
    phase = (2 * np.pi * np.cumsum(contour, dtype=np.float64) / RATE).astype(np.float32)
    voice = np.zeros_like(t)
    for k in range(1, int(min(4000, 0.45 * RATE) / pitch)):
        gain = sum(
            weight / (1 + ((k * contour - f) / width) ** 2)
            for f, weight, width in zip(formants, (1.0, 0.6, 0.3), (60, 90, 150), strict=True)
        )
        voice += gain / np.float32(k**0.5) * np.sin(k * phase)

    # Consonants: noise in a band, after a short silence for stops.
    noise = np.zeros_like(t)
    for sound, end, length in zip(sounds, ends, lengths, strict=True):
        if sound in NOISE:
            low, high = NOISE[sound]
            begin = end - length * (0.4 if sound in STOPS else 1.0)
            first, last = int(begin * RATE), int(end * RATE)
            spectrum = np.fft.rfft(random.standard_normal(last - first))
            band = np.fft.rfftfreq(last - first, 1 / RATE) / tract**0.5
            spectrum[(band < low) | (band > high)] *= 0.05
            envelope = np.hanning(last - first) ** 0.5
            noise[first:last] += LOUDNESS[sound] * envelope * np.fft.irfft(spectrum, last - first)
    fade = np.minimum(1, np.minimum(t, t[::-1]) / 0.02)
    return ((0.5 * voice * voicing + noise) * fade).astype(np.float32)


def record(signal: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Returns the signal as a microphone in a room records it: echoes, noise, any level."""
    before, after = random.integers(RATE // 20, RATE // 4, 2)
    signal = np.pad(signal, (before, after))
    echo_s = random.uniform(0.05, 0.3)
    t = np.arange(int(echo_s * RATE)) / RATE
    room = random.standard_normal(len(t)) * np.exp(-6.9 * t / echo_s) * random.uniform(0, 0.1)
    room[0] = 1
    size = 1 << (len(signal) + len(room)).bit_length()
    echoed = np.fft.irfft(np.fft.rfft(signal, size) * np.fft.rfft(room, size), size)
    echoed = echoed[: len(signal)]
    noise = random.standard_normal(len(signal)) * 10 ** (-random.uniform(10, 30) / 20)
    mixed = echoed / np.sqrt(np.mean(echoed**2)) + noise
    return mixed / np.abs(mixed).max() * 10 ** (-random.uniform(1, 30) / 20)


def write_recordings(folder: Path, counts: dict[str, int], seed: int) -> None:
    """Writes WAV files, and a manifest PART.json for each part."""
    random = np.random.default_rng(seed)
    for part, count in counts.items():
        (folder / part).mkdir()
        with (folder / f"{part}.json").open("w") as manifest:
            for index in range(count):
                word = list(WORDS)[index % len(WORDS)]
                samples = record(speak(word, random), random)
                path = folder / part / f"{index:04}_{word}.wav"
                with wave.open(str(path), "wb") as file:
                    file.setnchannels(1)
                    file.setsampwidth(2)
                    file.setframerate(RATE)
                    file.writeframes(np.round(32767 * samples).astype("<i2").tobytes())
                entry = {"audio_filepath": str(path), "text": word}
                manifest.write(json.dumps({**entry, "duration": len(samples) / RATE}) + "\n")


@pipeline_def
def recordings(manifest: Path, training: bool):
    """Log-mel features of a manifest's recordings, and their positions in it."""
    audio, index = fn.readers.nemo_asr(
        manifest_filepaths=str(manifest),
        sample_rate=float(RATE),
        read_sample_rate=False,
        read_text=False,
        read_idxs=True,
        random_shuffle=training,
        name="Reader",
    )
    powers = fn.spectrogram(audio, nfft=512, window_length=400, window_step=STEP)
    mel = fn.mel_filter_bank(powers, sample_rate=float(RATE), nfilter=ROWS, freq_low=60.0)
    features = fn.normalize(fn.to_decibels(mel, cutoff_db=SILENCE_DB))
    if training:
        features = fn.spec_augment(
            features, freq_masks=2, freq_width=10, time_masks=2, time_width=100, time_ratio=0.15
        )
    # 0 is the mean. All samples of a batch become as long as the longest.
    return {"features": fn.pad(features, axes=(1,), fill_value=0), "index": index}


def read_texts(manifest: Path) -> list[str]:
    """Returns the texts of a manifest."""
    if not manifest.is_file():
        raise SystemExit(f"classify_digits.py: {manifest} is missing: a manifest in NeMo's format")
    return [json.loads(line)["text"] for line in manifest.read_text().splitlines() if line]


def make_model(classes: int) -> nn.Module:
    """Returns a CNN over frequency and time that takes clips of any length."""
    layers: list[nn.Module] = []
    channels = 1
    for width in (16, 32, 64):
        layers += [
            nn.Conv2d(channels, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        channels = width
    layers += [nn.AdaptiveAvgPool2d((4, 6)), nn.Flatten(), nn.Dropout(0.3)]
    return nn.Sequential(*layers, nn.Linear(channels * 24, classes))


def write_png(path: Path, pixels: torch.Tensor) -> None:
    """Writes a uint8 image, [height, width, 3], as PNG (RFC 2083), using only zlib."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    height, width, _ = pixels.shape
    # Each row starts with the number of its filter; 0 means none.
    rows = torch.cat([torch.zeros(height, 1, dtype=torch.uint8), pixels.reshape(height, -1)], 1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.contiguous().numpy().tobytes()))
        + chunk(b"IEND", b"")
    )


def write_sheet(path: Path, features: torch.Tensor, columns: int = 4) -> None:
    """Writes up to 16 spectrograms, low frequencies at the bottom, from black over red to white."""
    rows = max(1, min(4, len(features) // columns))
    shown = features[: rows * columns].cpu()
    shown = torch.cat([shown, shown.new_zeros(rows * columns - len(shown), *shown.shape[1:])])
    heat = ((shown + 2) / 5).clamp(0, 1).flip(1).repeat_interleave(2, 1).repeat_interleave(2, 2)
    heat = nn.functional.pad(heat, (2, 2, 2, 2), value=1.0)
    height, width = heat.shape[1:]
    sheet = heat.reshape(rows, columns, height, width).transpose(1, 2)
    sheet = sheet.reshape(rows * height, columns * width)
    colors = torch.stack([3 * sheet, 3 * sheet - 1, 3 * sheet - 2], 2).clamp(0, 1)
    write_png(path, (255 * colors).round().to(torch.uint8))


def evaluate(model: nn.Module, loader: PipelineLoader, labels: torch.Tensor) -> float:
    """Returns the share of recordings that are classified correctly."""
    model.eval()
    right = 0
    with torch.no_grad():
        for batch in loader:
            found = model(batch["features"].unsqueeze(1)).argmax(1)
            right += int((found == labels[batch["index"].flatten()]).sum())
    return right / len(labels)


def train(options: argparse.Namespace, folder: Path) -> float:
    """Trains on the folder's manifests; returns the accuracy on held-out recordings."""
    texts = {part: read_texts(folder / f"{part}.json") for part in ("train", "test")}
    classes = sorted(set(texts["train"]))
    if unknown := set(texts["test"]) - set(classes):
        raise SystemExit(
            f"classify_digits.py: {', '.join(sorted(unknown))}: texts of test.json that are not in "
            "train.json"
        )
    labels = {p: torch.tensor([classes.index(text) for text in t]) for p, t in texts.items()}
    print(f"{len(texts['train'])} recordings to train on, {len(texts['test'])} held out")
    loaders = {
        part: PipelineLoader(
            recordings,
            pipeline_args={
                "manifest": folder / f"{part}.json",
                "training": part == "train",
                "batch_size": options.batch,
                "num_threads": options.threads,
                "seed": options.seed,
            },
        )
        for part in texts
    }
    model = make_model(len(classes))
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.01)
    steps = options.epochs * -(-len(texts["train"]) // options.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.lr, total_steps=steps)
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.05)
    accuracy = 0.0
    for epoch in range(1, options.epochs + 1):
        model.train()
        start, seen, loss_sum = time.perf_counter(), 0, 0.0
        for batch in loaders["train"]:
            if epoch == 1 and seen == 0:
                write_sheet(options.out / "spectrograms.png", batch["features"])
            wanted = labels["train"][batch["index"].flatten()]
            loss = loss_function(model(batch["features"].unsqueeze(1)), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if schedule.last_epoch < steps:
                schedule.step()
            seen += len(wanted)
            loss_sum += loss.item() * len(wanted)
        rate = seen / (time.perf_counter() - start)
        accuracy = evaluate(model, loaders["test"], labels["test"])
        print(
            f"epoch {epoch:2} of {options.epochs}: loss {loss_sum / seen:.3f}, held-out accuracy "
            f"{accuracy:.2%}, {rate:.0f} recordings/s",
            flush=True,
        )
    return accuracy


def parse_arguments() -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with train.json and test.json")
    parser.add_argument("--epochs", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=32, help="default: %(default)s")
    parser.add_argument("--lr", type=float, default=5e-3, help="maximum; default: %(default)s")
    parser.add_argument(
        "--threads",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="threads of the pipeline; default: number of cores, here %(default)s",
    )
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=Path("out"), help="default: %(default)s")
    parser.add_argument("--at-least", type=float, metavar="PERCENT", help="required accuracy")
    return parser.parse_args()


def main() -> None:
    """Makes recordings if there are none, trains, and writes the sheet."""
    options = parse_arguments()
    torch.manual_seed(options.seed)
    start = time.perf_counter()
    if options.data is not None:
        accuracy = train(options, options.data)
    else:
        with tempfile.TemporaryDirectory() as folder:
            write_recordings(Path(folder), {"train": 900, "test": 300}, options.seed)
            print(f"1200 recordings made in {time.perf_counter() - start:.1f} s")
            accuracy = train(options, Path(folder))
    print(
        f"\nheld-out accuracy {accuracy:.2%} after {time.perf_counter() - start:.1f} s\n"
        f"augmented spectrograms: {options.out / 'spectrograms.png'}"
    )
    if options.at_least is not None and 100 * accuracy < options.at_least:
        raise SystemExit(f"classify_digits.py: accuracy is below {options.at_least} %")


if __name__ == "__main__":
    main()
