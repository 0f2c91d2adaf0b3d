# SPDX-License-Identifier: Apache-2.0
"""torchdali.backend: the registry, memory, and options without effect."""

from __future__ import annotations

import os
import sys

import pytest
import torch
from helpers.cases import for_each

from torchdali import backend, errors, fn, pipeline_def, tensors, types
from torchdali._engine.schema import ALIASES, registry


def test_the_classes_are_those_of_tensors():
    for name in tensors.__all__:
        assert getattr(backend, name) is getattr(tensors, name)


def test_operators_have_the_names_of_dalis_backend():
    names = backend.RegisteredCPUOps()
    assert {"Resize", "decoders__Image", "random__CoinFlip", "readers__File"} <= set(names)
    assert len(names) == len([s for s in registry().values() if "cpu" in s.devices])
    assert set(names) <= set(backend.RegisteredCPUOps(internal_ops=True))
    for device, of in {"gpu": "GPU", "mixed": "Mixed"}.items():
        count = len([s for s in registry().values() if device in s.devices])
        assert len(getattr(backend, f"Registered{of}Ops")()) == count


@for_each("name", sorted(registry()))
def test_a_schema_equals_the_registry(name):
    known = registry()[name]
    schema = backend.GetSchema("__".join([*known.path[:-1], known.class_name]))
    assert schema.OperatorName() == known.class_name
    assert schema.ModulePath() == list(known.path[:-1])
    assert (schema.MinNumInput(), schema.MaxNumInput()) == (known.min_inputs, known.max_inputs)
    assert [schema.GetInputName(i) for i in range(schema.MaxNumInput())] == [
        known.inputs[min(i, len(known.inputs) - 1)].name for i in range(known.max_inputs)
    ]
    assert schema.Dox() == known.doc
    for arg in known.args:
        assert schema.HasArgument(arg.name)
        assert (arg.name in schema.GetArgumentNames()) != arg.deprecated
        assert isinstance(schema.GetArgumentType(arg.name), types.DALIDataType)
        assert schema.IsArgumentOptional(arg.name) != arg.required
        assert schema.IsTensorArgument(arg.name) == arg.per_sample
        assert schema.GetArgumentDox(arg.name) == arg.doc
        if schema.HasArgumentDefaultValue(arg.name):
            eval(schema.GetArgumentDefaultValueString(arg.name), {"nan": 0, "inf": 0})
        if schema.IsDeprecatedArg(arg.name):
            assert schema.DeprecatedArgMeta(arg.name)["renamed_to"] == arg.renamed_to
    assert not schema.IsInternal()
    with pytest.raises(errors.ArgumentError, match="no argument `nothing`"):
        schema.GetArgumentType("nothing")


def test_unknown_operators_are_errors():
    assert backend.TryGetSchema("Nothing") is None
    with pytest.raises(RuntimeError, match='no operator "Nothing"'):
        backend.GetSchema("Nothing")
    assert ALIASES["image_decoder"] == "decoders.image"
    assert backend.TryGetSchema("ImageDecoder") is None
    assert backend.GetSchema("ImageDecoder", follow_aliases=True).Name() == "decoders__Image"
    assert backend.GetSchema("Resize", follow_aliases=True).Name() == "Resize"


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_release_unused_memory_keeps_used_memory():
    # Larger than malloc takes from its heap, so that it is returned to the system.
    size = 40 << 20

    @pipeline_def(batch_size=1, num_threads=1, prefetch_queue_depth=1)
    def noise():
        return fn.random.uniform(range=(0, 1), shape=[size // 4])

    pipe = noise()
    batches = [pipe.run()[0] for _ in range(4)]
    kept = batches[0]
    values = kept.as_torch().clone()
    del batches
    before = resident()
    backend.ReleaseUnusedMemory()
    assert before - resident() > 2.5 * size
    assert torch.equal(kept.as_torch(), values)
    pipe.run()
    pipe.close()
    backend.ReleaseUnusedMemory()


KNOBS = ["HostBufferGrowthFactor", "DeviceBufferGrowthFactor", "HostBufferShrinkThreshold"]


@pytest.mark.parametrize("knob", KNOBS)
def test_options_of_dalis_allocator_warn_that_they_have_no_effect(knob):
    get, put = getattr(backend, f"Get{knob}"), getattr(backend, f"Set{knob}")
    before = get()
    with pytest.warns(UserWarning, match="no effect"):
        put(1)
    assert get() == 1.0
    with pytest.raises(ValueError, match="must be between"):
        put(9)
    with pytest.warns(UserWarning, match="no effect"):
        put(before)
    assert get() == before


def test_use_cuda_malloc_async_sets_two_options():
    before = backend.GetHostBufferGrowthFactor()
    with pytest.warns(UserWarning, match="no effect"):
        backend.SetBufferGrowthFactor(2)
    assert backend.GetHostBufferGrowthFactor() == backend.GetDeviceBufferGrowthFactor() == 2
    with pytest.warns(UserWarning, match="no effect"):
        backend.SetBufferGrowthFactor(before)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_gpu_memory_without_a_gpu_is_an_error():
    with pytest.raises(errors.UnsupportedError, match="needs a GPU"):
        backend.PreallocateDeviceMemory(1 << 20, 0)
    with pytest.raises(errors.UnsupportedError, match="needs a GPU"):
        backend.PreallocatePinnedMemory(1 << 20)
    assert not backend.IsDriverInitialized()


@pytest.mark.cuda
def test_gpu_memory_can_be_preallocated():
    before = torch.cuda.memory_reserved(0)
    backend.PreallocateDeviceMemory(64 << 20, 0)
    assert torch.cuda.memory_reserved(0) >= before + (64 << 20)
    backend.PreallocatePinnedMemory(1 << 20)
    backend.ReleaseUnusedMemory()
    assert torch.cuda.memory_reserved(0) <= before
    stream = backend.Stream(0)
    assert stream.device_id == 0
    assert stream.handle
    assert "device_id=0" in repr(stream)


def test_files_that_are_no_libraries_of_operators_are_errors():
    with pytest.raises(errors.FileError, match=r"nothing\.so"):
        backend.LoadLibrary("nothing.so")
    with pytest.raises(errors.UnsupportedError, match="cannot be loaded"):
        backend.LoadLibrary(sys.executable)
    with pytest.warns(UserWarning, match=r"nothing\.so"):
        backend.LoadLibrary("nothing.so", allow_fail=True)


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 0)}], ids=["old", "versioned"])
def test_capsules_are_checked_by_name(options):
    capsule = torch.zeros(2).__dlpack__(**options)
    assert backend.CheckDLPackCapsule(capsule) == (True, False)
    torch.from_dlpack(capsule)
    assert backend.CheckDLPackCapsule(capsule) == (False, False)
    assert backend.CheckDLPackCapsule("capsule") == (False, False)


def test_build_information_is_available(monkeypatch):
    assert backend.GetCxx11AbiFlag() == int(torch.compiled_with_cxx11_abi())
    assert (backend.GetCudaVersion() > 0) == (torch.version.cuda is not None)
    monkeypatch.setenv("DALI_RESTRICT_PINNED_MEM", "1")
    assert backend.RestrictPinnedMemUsage()
    monkeypatch.setenv("DALI_RESTRICT_PINNED_MEM", "0")
    assert not backend.RestrictPinnedMemUsage()
