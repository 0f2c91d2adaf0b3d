# SPDX-License-Identifier: Apache-2.0
"""Run by test_extension.py in a process of its own, where the registry may be changed.

Its argument is the folder for what it compiles. It prints a line for each check that held.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import torch

FOLDER = Path(sys.argv[1])
ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "operator_package" / "csrc"
os.environ["TORCH_EXTENSIONS_DIR"] = str(FOLDER)
sys.path.insert(0, str(ROOT / "tests"))

import torchdali  # noqa: E402
import torchdali.experimental.dynamic as ndd  # noqa: E402
from torchdali import Pipeline, extension, fn, functional, ops, pipeline_def, plugin_manager  # noqa: E402

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def error_of(call, kind=Exception):
    try:
        call()
    except kind as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("no error")


def has(text, *patterns):
    for pattern in patterns:
        assert re.search(pattern, text, re.DOTALL), f"{pattern!r} is not in:\n{text}"


def solarized(image, threshold=128):
    return torch.where(image.int() < threshold, image, 255 - image)


IMAGE = torch.arange(48 * 64 * 3).remainder(251).to(torch.uint8).reshape(48, 64, 3)


@check
def loads_and_names():
    sources = [EXAMPLE / "solarize.cu", EXAMPLE / "random_gain.cpp"]
    assert extension.load("example", sources) == ["my.solarize", "my.random_gain"]
    assert extension.load("example", sources) == ["my.solarize", "my.random_gain"]  # no-op
    assert "my" in fn.__all__
    assert fn.my.__all__ == ["random_gain", "solarize"]
    assert ops.my.__all__ == ["RandomGain", "Solarize"]
    import torchdali.fn.my as imported

    assert imported.solarize is fn.my.solarize
    has(fn.my.solarize.__doc__, "Inverts elements", "threshold: int or DataNode, default 128")
    schema = torchdali.backend.GetSchema("my__Solarize")
    assert schema is not None


@check
def every_way_to_call_it():
    expected = solarized(IMAGE, 100)
    assert torch.equal(functional.my.solarize(IMAGE, threshold=100), expected)
    assert torch.equal(
        torch.as_tensor(ndd.my.solarize(ndd.as_tensor(IMAGE), threshold=100)), expected
    )
    from torchdali.experimental import eager

    batch = torchdali.tensors.TensorListCPU([IMAGE.numpy()], layout="HWC")
    assert torch.equal(eager.my.solarize(batch, threshold=100).as_torch_list()[0], expected)
    pipe = Pipeline(2, 2, device_id=None)
    with pipe:
        data = fn.external_source(source=lambda: [IMAGE, IMAGE[:9]], layout="HWC")
        pipe.set_outputs(fn.my.solarize(data), ops.my.Solarize(threshold=7)(data))
    one, two = pipe.run()
    assert torch.equal(one.as_torch_list()[1], solarized(IMAGE[:9]))
    assert torch.equal(two.as_torch_list()[0], solarized(IMAGE, 7))


@check
def conditions_and_fusion():
    @pipeline_def(batch_size=4, num_threads=2, device_id=None, enable_conditionals=True, seed=3)
    def some():
        data = fn.external_source(source=lambda: [IMAGE] * 4, layout="HWC")
        if fn.random.coin_flip(dtype=torchdali.types.BOOL):  # noqa: SIM108 - a condition of nodes
            out = fn.my.solarize(data)
        else:
            out = data
        resized = fn.resize(data, size=[24, 32], interp_type=torchdali.types.INTERP_LINEAR)
        return out, fn.my.solarize(resized), resized

    pipe = some()
    out, fused, resized = pipe.run()
    kinds = {torch.equal(s, IMAGE) for s in out.as_torch_list()}
    assert kinds == {True, False}
    for a, b in zip(fused.as_torch_list(), resized.as_torch_list(), strict=True):
        assert torch.equal(a, solarized(b))

    @pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def chain():
        data = fn.external_source(source=lambda: [IMAGE] * 4, layout="HWC")
        data = fn.resize(data, size=[24, 32])
        return fn.flip(fn.my.solarize(data))

    pipe = chain()
    pipe.build()
    chains = [[one.op for one in step.operators] for step in pipe.plan().steps if step.fused]
    assert len(chains) == 1, chains
    has(str(chains[0]), r"resize.*my\.solarize.*flip")


@check
def the_contract_of_operators():
    from helpers import contract
    from helpers.ops import OpCase, PerSample

    cases = [
        OpCase("my.solarize", "HWC", (5, 7, 3)),
        OpCase("my.solarize", "CHW", (3, 5, 70), {"threshold": 0}),
        OpCase("my.solarize", "HWC", [(5, 7, 3), (2, 3, 3)], {"threshold": PerSample([10, 200])}),
        OpCase("my.solarize", "HWC", (5, 7, 3), {"threshold": PerSample([10, 200])}),
        OpCase("my.solarize", "HWC", (0, 7, 3)),
        OpCase("my.random_gain", "", (5, 7), dtype=torch.float32),
        OpCase("my.random_gain", "", (5, 7), {"range": PerSample([[1.0, 2.0]])}, torch.float32),
    ]
    for case in cases:
        contract.check_independence(case)
        if case.op == "my.solarize":
            contract.check_gpu(case)
        if contract.has_values_of_frames(case):
            contract.check_frames(case)
        if case.op == "my.random_gain":
            contract.check_resumption(case)


@check
def serialized():
    def make():
        pipe = Pipeline(1, 1, device_id=None, seed=5)
        with pipe:
            data = fn.external_source(name="in", layout="HWC")
            data = fn.cast(fn.my.solarize(data, threshold=3), dtype=torchdali.types.FLOAT)
            pipe.set_outputs(fn.my.random_gain(data))
        return pipe

    pipe = make()
    text = pipe.serialize()
    other = Pipeline.deserialize(text)
    for one in (pipe, other):
        one.feed_input("in", [IMAGE])
    assert torch.equal(pipe.run()[0].as_torch_list()[0], other.run()[0].as_torch_list()[0])
    (FOLDER / "pipeline.bin").write_bytes(text)


@check
def debug_mode_and_checkpoints():
    def define():
        data = fn.external_source(source=lambda: [IMAGE, IMAGE[:9]], layout="HWC")
        out = fn.my.solarize(data, threshold=5)
        return out, fn.my.random_gain(fn.cast(out, dtype=torchdali.types.FLOAT))

    def make(**args):
        return pipeline_def(define)(batch_size=2, num_threads=2, device_id=None, seed=7, **args)

    def values(batches):
        return [sample for batch in batches for sample in batch.as_torch_list()]

    plain, debugged = make(enable_checkpointing=True), make(debug=True)
    for _ in range(2):
        expected = values(plain.run())
        for a, b in zip(expected, values(debugged.run()), strict=True):
            assert torch.equal(a, b)
    resumed = make(enable_checkpointing=True, checkpoint=plain.checkpoint())
    for a, b in zip(values(plain.run()), values(resumed.run()), strict=True):
        assert torch.equal(a, b)


@check
def errors_say_where():
    bad = IMAGE.float()

    def run():
        pipe = Pipeline(2, 1, device_id=None)
        with pipe:
            data = fn.external_source(source=lambda: [bad, bad], layout="HWC")
            pipe.set_outputs(fn.my.solarize(data))  # the line
        pipe.run()

    has(
        error_of(run, TypeError),
        "fn.my.solarize",
        "sample 0 of 2",
        "input `data` is float32, expected uint8",
        "program.py",
        r"# the line",
        "use fn.cast",
    )
    has(error_of(lambda: functional.my.solarize(bad), TypeError), "functional.my.solarize")
    has(error_of(lambda: fn.my.solarize(), ValueError), "fn.my.solarize: takes 1 input")
    has(error_of(lambda: functional.my.solarize(IMAGE, treshold=3), TypeError), "treshold")
    has(
        error_of(lambda: functional.my.solarize(IMAGE[0]), ValueError), "input `data` has no layout"
    )


WRONG = """
#include <torchdali/operator.h>
#include <stdexcept>
#include <vector>
using namespace torchdali;
struct Wrong final : Operator {
  explicit Wrong(const OpSpec& spec) : how_(spec, "how") {
    if (spec.get<int>("constant") == 1) throw std::runtime_error("made wrongly");
    if (spec.get<int>("constant") == 2) (void)spec.get<int>("nonsense");
  }
  void run(SampleContext& ctx) const override {
    const auto in = ctx.input(0);
    switch (how_(ctx)) {
      case 1: (void)std::vector<int>(3).at(7); break;
      case 2: throw 5;
      case 3: ctx.output(0, DType::kUInt8, {int64_t{1} << 60, 1000}); return;
      case 4: ctx.output(0, DType::kUInt8, {2, -1}); return;
      case 5: ctx.output(1, DType::kUInt8, {2}); return;
      case 6: (void)ctx.input(3); break;
      case 7: ctx.output(0, DType::kUInt8, {2, 2}, "HWC"); return;
      case 8: {
        SampleView view = in;
        view.data = in.as<char>() + 4;
        return ctx.share_input(0, 0, view);
      }
      case 9: raise(ErrorKind::kData, "bad bytes in ", ctx.source_name());
    }
    ctx.scratch<float>(10)[9] = 1;
    ctx.share_input(0, 0, in);
  }
  Arg<int> how_;
};
TORCHDALI_OPERATOR("wrong").doc("Fails.").input("data", "Any.").output("out", "None.")
    .arg("how", 0, "How.", Arity::kPerSample).arg("constant", 0, "How it is made.").cpu<Wrong>();
"""


def source(name, text):
    path = FOLDER / f"{name}.cpp"
    path.write_text(text)
    return path


@check
def exceptions_of_the_library():
    assert extension.load("wrong", source("wrong", WRONG)) == ["wrong"]
    data = torch.zeros(8, dtype=torch.uint8)

    def run(how, **args):
        pipe = Pipeline(2, 2, device_id=None)
        with pipe:
            given = fn.external_source(source=lambda: [data, data])
            hows = fn.external_source(source=lambda: [torch.tensor(0), torch.tensor(how)])
            pipe.set_outputs(fn.wrong(given, how=hows, **args))
        return pipe.run()

    assert torch.equal(run(0)[0].as_torch_list()[1], data)
    where = ("fn.wrong", "sample 1 of 2")
    has(
        error_of(lambda: run(1)),
        *where,
        r"std::out_of_range: .*an exception in the code of .*wrong\.so",
    )
    has(error_of(lambda: run(2)), *where, r"not a std::exception .*wrong\.so")
    has(error_of(lambda: run(3)), *where, "too large")
    has(error_of(lambda: run(4)), *where, "negative extent")
    has(error_of(lambda: run(5)), *where, "makes output 1 of 1")
    has(error_of(lambda: run(6)), *where, "reads input 3 of 1")
    has(error_of(lambda: run(7)), *where, "does not fit")
    has(error_of(lambda: run(8)), *where, "not inside its memory")
    has(error_of(lambda: run(9)), *where, "^DataError", "bad bytes")
    assert len(run(9, on_error="skip")[0]) == 1
    has(
        error_of(lambda: run(0, constant=1)),
        "fn.wrong",
        "std::runtime_error: made wrongly",
        "wrong.so",
    )
    has(error_of(lambda: run(0, constant=2)), "fn.wrong", "argument `nonsense`")


OTHER = """
#include <torchdali/operator.h>
using namespace torchdali;
struct Other final : Operator {{
  explicit Other(const OpSpec&) {{}}
  void run(SampleContext& ctx) const override {{ ctx.share_input(0, 0, ctx.input(0)); }}
}};
TORCHDALI_OPERATOR("{name}").doc("{doc}").input("data", "Any.").output("out", "It."){more}
    .cpu<Other>();
{rest}
"""


@check
def descriptions_and_names():
    def load(name, doc="Nothing.", more="", rest=""):
        load.count += 1
        text = OTHER.format(name=name, doc=doc, more=more, rest=rest)
        return lambda: extension.load(f"other{load.count}", source(f"other{load.count}", text))

    load.count = 0
    before = set(fn.__all__), set(torchdali._engine.schema.registry())
    taken = "a name that is taken: there is torchdali.fn"
    has(error_of(load("resize"), ValueError), "operator resize of .*other1", taken, "my.resize")
    has(error_of(load("resize.more"), ValueError), rf"{taken}\.resize already")
    has(error_of(load("my"), ValueError), rf"{taken}\.my already")
    has(error_of(load("my.solarize"), ValueError), rf"{taken}\.my\.solarize")
    has(error_of(load("for"), ValueError), "keyword")
    has(error_of(load("No-Name"), ValueError), 'named "No-Name"')
    has(error_of(load("deferred"), ValueError), r"torchdali\.functional\.deferred")
    has(error_of(load("x1", more='.arg("device", 1, "No.")'), ValueError), "`device`")
    has(
        error_of(
            load("x2", more='.required_arg("t", ArgType::kString, "", Arity::kPerSample)'),
            ValueError,
        ),
        "tensors hold numbers",
    )
    has(error_of(load("x3", doc=""), ValueError), "has no documentation")
    assert (set(fn.__all__), set(torchdali._engine.schema.registry())) == before
    text = """
        #include <torchdali/c_api.h>
        static const td_library library{7, 0, nullptr};
        extern "C" __attribute__((visibility("default"))) const td_library* torchdali_operators(
            const td_engine*) { return &library; }
    """
    has(
        error_of(lambda: extension.load("old", source("old", text)), NotImplementedError),
        r"version 7\.0",
        r"this torchdali has version 1\.0",
        "compile the library again",
    )
    text = "int nothing;"
    has(
        error_of(lambda: extension.load("nothing", source("nothing", text)), NotImplementedError),
        "not a library of torchdali operators",
    )
    has(error_of(lambda: extension.load("broken", source("broken", "int x = ;"))), "broken")
    has(error_of(lambda: extension.load("a-b", "x.cpp")), "'a-b'")
    has(error_of(lambda: extension.load("a", "x.cpp"), OSError), "x.cpp")
    if torch.version.cuda is None:
        call = lambda: extension.load("a", EXAMPLE / "solarize.cu", with_cuda=True)  # noqa: E731
        has(error_of(call, NotImplementedError), "with_cuda=True, and torch is built without CUDA")


@check
def plugin_manager_loads_folders():
    folder = FOLDER / "plugins" / "inner"
    folder.mkdir(parents=True)
    text = OTHER.format(name="family.one", doc="Nothing.", more="", rest="")
    path = source("family", text)
    include = " ".join(
        torchdali.sysconfig.get_compile_flags() + torchdali.sysconfig.get_link_flags()
    )
    assert os.system(f"c++ {include} -shared -fPIC {path} -o {folder / 'family.so'}") == 0
    (FOLDER / "plugins" / "zzz.so").write_text("no library")
    manager = plugin_manager
    has(error_of(lambda: manager.load_directory(FOLDER / "none"), OSError), "no folder")
    has(
        error_of(lambda: manager.load_directory(FOLDER / "plugins"), NotImplementedError),
        r"zzz\.so",
    )
    manager.load_directory(str(FOLDER / "plugins"), allow_fail=True)
    manager.load_library(str(folder / "family.so"), global_symbols=True)
    assert torch.equal(functional.family.one(IMAGE), IMAGE)


for function in CHECKS:
    function()
    print("held:", function.__name__, flush=True)
