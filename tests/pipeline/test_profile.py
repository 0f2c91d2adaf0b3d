# SPDX-License-Identifier: Apache-2.0
"""torchdali.profile(): a trace of all threads as JSON, bounded in memory, written at the end."""

import collections
import itertools
import json
import os
import time

import numpy as np
import pytest

import torchdali
from torchdali import DataLoader, PipelineLoader, errors, fn, pipeline_def
from torchdali._engine.extension import _C

pytestmark = pytest.mark.usefixtures("keep_random_state")  # loaders draw seeds


@pipeline_def(batch_size=3, num_threads=2, device_id=None, prefetch_queue_depth=2)
def tiny():
    return fn.copy(fn.random.uniform(shape=[5], name="u"), name="c")


def read(path):
    document = json.loads(path.read_text())
    return document, [e for e in document["traceEvents"] if e["ph"] == "X"]


def threads(document):
    return {
        e["tid"]: e["args"]["name"]
        for e in document["traceEvents"]
        if e["ph"] == "M" and e["name"] == "thread_name"
    }


def finish(pipe):
    """Waits until all threads are idle, so that all events are recorded."""
    before = None
    while before != (before := [w.claims for w in pipe.stats().workers]):
        time.sleep(0.03)


def test_every_sample_and_operator_has_an_event(tmp_path):
    path = tmp_path / "trace.json"
    pipe = tiny()
    with torchdali.profile(path) as profile:
        for _ in range(4):
            pipe.run()
        finish(pipe)
    document, events = read(path)
    names = collections.Counter(e["name"] for e in events)
    # 4 batches were taken, 1 more is in the queue.
    assert names["sample"] == names["random.uniform"] == names["copy"] == 5 * 3
    assert profile.dropped == document["otherData"]["dropped_events"] == 0
    counters = [e for e in document["traceEvents"] if e["ph"] == "C"]
    assert profile.events == len(events) + len(counters)
    copies = [e for e in events if e["name"] == "copy"]
    where = {(e["args"]["iteration"], e["args"]["sample"]) for e in copies}
    assert where == {(i, s) for i in range(5) for s in range(3)}
    for event in copies:
        assert event["cat"] == "operator"
        assert event["args"]["bytes"] == 20
        assert event["args"]["location"].startswith("tests/pipeline/test_profile.py:")
    assert {e["name"] for e in counters} == {"batches ready"}
    assert {e["args"]["batches"] for e in counters} <= {0, 1, 2}
    # All of them are timed, so stats() is exact.
    assert all(o.timed == o.samples == 15 for o in pipe.stats().operators)


def test_a_page_shows_all_events(tmp_path):
    page, pipe = tmp_path / "<profile>.HTML", tiny()
    with torchdali.profile(page) as profile:
        for _ in range(3):
            pipe.run()
        finish(pipe)
    text = page.read_text()
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    slices = []
    for lane in (lane for thread in data["threads"] for lane in thread["lanes"]):
        rows = [lane[i : i + 6] for i in range(0, len(lane), 6)]
        assert all(a[0] + a[1] <= b[0] + 0.01 for a, b in itertools.pairwise(rows))
        slices += rows
    points = [point for counter in data["counters"] for point in counter["points"]]
    assert len(slices) + len(points) == profile.events
    assert all(0 <= time <= data["length_us"] for time, *_ in slices + points)
    copies = [row for row in slices if data["names"][row[2]] == "copy"]
    assert {(iteration, sample) for *_, sample, iteration in copies} == {
        (i, s) for i in range(4) for s in range(3)
    }
    assert all("bytes: 20\nlocation: " in data["details"][row[3]] for row in copies)
    (row,) = (row for row in data["sums"] if row[0] == "copy")
    assert row[1] == "12"


def test_events_of_a_thread_nest_and_threads_have_names(tmp_path):
    path = tmp_path / "trace.json"
    pipe = tiny()
    with torchdali.profile(path):
        for _ in range(5):
            pipe.run()
        finish(pipe)
    document, events = read(path)
    names = threads(document)
    assert {"torchdali-0", "torchdali-1"} & set(names.values())
    assert any(name.startswith("main thread") for name in names.values())
    assert {e["tid"] for e in events} <= set(names)
    for event in events:
        worker = names[event["tid"]].startswith("torchdali-")
        assert worker == (event["cat"] in ("sample", "operator")), event
    begin, end = (document["otherData"][key] / 1000 for key in ("begin_ns", "end_ns"))
    for thread in names:
        open_until = []
        # Of two slices that start together, the shorter is inside the other.
        mine = sorted((e for e in events if e["tid"] == thread), key=lambda e: (e["ts"], -e["dur"]))
        for event in mine:
            assert begin - 1 <= event["ts"] <= event["ts"] + event["dur"] <= end + 1
            while open_until and open_until[-1] <= event["ts"] + 1e-3:
                open_until.pop()
            if open_until:
                assert event["ts"] + event["dur"] <= open_until[-1] + 1e-3
            assert event["cat"] != "operator" or open_until, "an operator is inside its sample"
            open_until.append(event["ts"] + event["dur"])


def test_samples_have_the_names_of_their_sources(tmp_path):
    strange = 'no "text" \\ \t' + "é" + "x" * 100
    files = [tmp_path / "short.jpg", tmp_path / f"{strange}.jpg"]
    raw = os.fsencode(tmp_path) + b"/\xff\xfe.jpg"
    for file in files:
        file.write_bytes(bytes(7))
    with open(raw, "wb") as file:
        file.write(bytes(7))

    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def define():
        data, label = fn.readers.file(files=[*map(str, files), os.fsdecode(raw)], name="R")
        return fn.copy(data), label

    path = tmp_path / "trace.json"
    pipe = define()
    with torchdali.profile(str(path)):
        pipe.run()
        finish(pipe)
    _, events = read(path)
    sources = {e["args"]["sample"]: e["args"]["source"] for e in events if e["name"] == "copy"}
    assert sources == {0: str(files[0]), 1: str(files[1]), 2: f"{tmp_path}/\ufffd\ufffd.jpg"}
    reader = [e for e in events if e["cat"] == "source"]
    assert {e["name"] for e in reader} == {"readers.file (next batch)"}
    assert sum(e["args"]["bytes"] == 11 for e in events if e["name"] == "readers.file") >= 3


def test_waits_sources_and_functions_have_events(tmp_path):
    def source():
        time.sleep(0.002)
        return np.zeros((2, 3), np.float32)

    def function(x):
        time.sleep(0.05)  # long enough for a wait on a busy machine
        return x

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def define():
        data = fn.external_source(source, name="mine", batch=True)
        return fn.python_function(data, function=function)

    path = tmp_path / "trace.json"
    pipe = define()
    profile = torchdali.profile(path).start()
    pipe.run()
    finish(pipe)
    profile.stop()
    profile.stop()  # does nothing
    _, events = read(path)
    longest = collections.defaultdict(float)
    for event in events:
        key = event["cat"], "" if event["cat"] == "function" else event["name"]
        assert event["cat"] != "function" or "function `" in event["name"]
        longest[key] = max(longest[key], event["dur"])
    assert longest["source", "mine (callback)"] > 2000
    assert longest["batch stage", "python_function (batch)"] > 4000
    assert longest["function", ""] > 2000
    assert longest["consumer", "waits for a batch"] > 2000


def test_a_profile_covers_all_or_selected_pipelines(tmp_path):
    path = tmp_path / "trace.json"
    before, other = tiny(), tiny()
    before.build()
    with torchdali.profile(path):
        inside = tiny()
        for pipe in (before, inside):
            pipe.run()
            finish(pipe)
    _, events = read(path)
    assert len({e["args"]["pipeline"] for e in events if e["name"] == "sample"}) == 2
    loader = PipelineLoader(tiny, size=6)
    with torchdali.profile(path, pipelines=[other, loader]):
        for pipe in (before, other):
            pipe.run()
            finish(pipe)
        list(loader)
    _, events = read(path)
    samples = [e for e in events if e["name"] == "sample"]
    assert len({e["args"]["pipeline"] for e in samples}) == 2
    with torchdali.profile(path, pipelines=other):
        before.run()
        finish(before)
    assert read(path)[1] == []
    data = DataLoader([np.zeros(2, np.float32)] * 4, 2, pipeline=fn.copy)
    with pytest.raises(errors.ArgumentTypeError, match="pipelines or loaders"):
        torchdali.profile(path, pipelines=[3])
    assert data.__torchdali_trace_owners__() == []


def test_dropped_events_are_counted_and_reported(tmp_path):
    path = tmp_path / "trace.json"
    pipe = tiny()
    profile = torchdali.profile(path, max_events=1).start()
    for _ in range(500):
        pipe.run()
    finish(pipe)
    with pytest.warns(UserWarning, match=r"profile: \d+ events were left out, .*max_events=1"):
        profile.stop()
    document, events = read(path)
    assert profile.dropped > 1000
    assert document["otherData"]["dropped_events"] == profile.dropped
    assert any("events were dropped" in e["name"] for e in document["traceEvents"])
    # Events are recorded in chunks.
    assert len(events) <= 1024
    assert profile.events + profile.dropped >= 500 * 9


def test_the_file_is_written_if_the_block_fails(tmp_path):
    path = tmp_path / "trace.json"
    pipe = tiny()

    def block():
        with torchdali.profile(path):
            pipe.run()
            raise KeyError("the user's")

    with pytest.raises(KeyError):
        block()
    assert read(path)[1]
    failing = pipeline_def(batch_size=2, num_threads=1, device_id=None)(
        lambda: fn.decoders.image(fn.external_source(lambda: np.zeros((2, 9), np.uint8)))
    )()
    with pytest.raises(errors.TorchdaliError), torchdali.profile(path):
        failing.run()
    assert any(e["name"] == "sample" for e in read(path)[1])


def test_closing_a_pipeline_during_a_profile_keeps_its_events(tmp_path):
    path = tmp_path / "trace.json"
    with torchdali.profile(path):
        for _ in range(5):
            pipe = tiny()
            pipe.run()
            pipe.close()
            del pipe
    assert len({e["args"]["pipeline"] for e in read(path)[1]}) == 5


def test_errors_are_raised_when_the_profile_starts(tmp_path):
    with pytest.raises(errors.FileError, match="No such file or directory"):
        torchdali.profile(tmp_path / "no" / "trace.json").start()
    with pytest.raises(errors.FileError, match="directory"), torchdali.profile(tmp_path):
        pass
    with pytest.raises(errors.ArgumentTypeError, match="`path` is 3"):
        torchdali.profile(3)
    for wrong in (0, -1, 1 << 40):
        with pytest.raises(errors.ArgumentError, match="max_events"):
            torchdali.profile(tmp_path / "t", max_events=wrong)
    with pytest.raises(errors.ArgumentTypeError, match="max_events"):
        torchdali.profile(tmp_path / "t", max_events=1.5)
    first = torchdali.profile(tmp_path / "a.json").start()
    with pytest.raises(errors.PipelineError, match="started already"):
        first.start()
    with pytest.raises(errors.TorchdaliError, match="a profile is already being taken"):
        torchdali.profile(tmp_path / "b.json").start()
    first.stop()
    with torchdali.profile(tmp_path / "b.json"):
        pass


def test_a_forked_child_does_not_write_the_file(tmp_path):
    path = tmp_path / "trace.json"
    pipe = tiny()
    with torchdali.profile(path):
        pipe.run()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                assert not _C.tracing()
                inside = torchdali.profile(tmp_path / "child.json").start()
                inside.stop()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        pipe.run()
        finish(pipe)
    assert sum(e["name"] == "sample" for e in read(path)[1]) == 9
    assert (tmp_path / "child.json").exists()


def test_nothing_is_recorded_outside_of_a_profile(tmp_path):
    path = tmp_path / "trace.json"
    pipe = tiny()
    for _ in range(20):
        pipe.run()
    finish(pipe)
    with torchdali.profile(path):
        pass
    assert read(path)[1] == []
