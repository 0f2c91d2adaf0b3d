# SPDX-License-Identifier: Apache-2.0
"""Tables of audio: seconds of audio per CPU-second; the ratio is torchdali / peer."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.cells import markdown, number, of, paired_ratio, title

_METRIC = "audio_s_per_cpu_s"
_CLIPS = {
    "wav": "WAV files of LibriSpeech",
    "flac": "FLAC files of LibriSpeech",
    "made": "WAV files of 10 s",
}
# Whose results are filtered against aliasing.
_REFERENCES = {"soxr": "torchdali-antialias", "torchaudio": "torchdali-antialias"}


def _table(
    document: dict[str, Any],
    name: str,
    axes: list[str],
    first: str,
    note: str,
    *,
    filtered: bool = False,
) -> str:
    """Returns a table; ``filtered``: some peers are compared with ``antialias=True``."""
    results = of(document, name)
    if not results:
        return "Not measured."
    by_key = {(r["peer"], *(r["axes"][a] for a in axes)): r for r in results}
    peers = list(dict.fromkeys(r["peer"] for r in results))
    rows = []
    for key in dict.fromkeys(tuple(r["axes"][a] for a in axes) for r in results):
        row = [str(_CLIPS.get(value, value)) for value in key]
        for peer in peers:
            result = by_key[(peer, *key)]
            base = by_key[(_REFERENCES.get(peer, peers[0]) if filtered else peers[0], *key)]
            if "absent" in result:
                row.append("absent")
                continue
            cell = number(result, _METRIC)
            if not peer.startswith("torchdali") and "absent" not in base:
                cell += f" ({paired_ratio(base, result, _METRIC):.2f})"
            row.append(cell)
        rows.append(row)
    titles = [title(next(r for r in results if r["peer"] == peer)) for peer in peers]
    table = markdown([first, *axes[1:], *titles], rows)
    return f"{table}\n\n{note} In brackets: torchdali's throughput divided by the peer's."


def log_mel_table(document: dict[str, Any]) -> str:
    """Log-mel features of encoded clips."""
    first = "log-mel features, seconds of audio per CPU-second"
    note = (
        "From encoded clips in memory to 80 features every 10 ms: 16 kHz, FFT of 512 points, "
        "windows of 320, steps of 160, decibels. The peers other than DALI decode with soundfile "
        "in the workers of torch's `DataLoader`."
    )
    return _table(document, "log_mel", ["clips", "threads"], first, note)


def decoding_table(document: dict[str, Any]) -> str:
    """Decoding of files."""
    first = "decoding to float32, seconds of audio per CPU-second"
    note = (
        "One thread, files in memory. Slices start at random positions; soundfile seeks and reads, "
        "DALI 1.35 decodes the whole file."
    )
    return _table(document, "decoding", ["work"], first, note)


def resampling_table(document: dict[str, Any]) -> str:
    """Resampling of clips."""
    first = "resampling, seconds of audio per CPU-second"
    note = (
        "One thread, clips of 10 s in memory, one channel. torchdali and DALI with `quality=50`, "
        'soxr with "HQ", torchaudio with its defaults, whose filter is shorter. DALI keeps '
        "frequencies that the lower rate cannot represent. soxr and torchaudio do not, and are "
        "compared with torchdali with `antialias=True`."
    )
    return _table(document, "resampling", ["rates"], first, note, filtered=True)
