# SPDX-License-Identifier: Apache-2.0
"""Runs small graphs in real DALI for the tests; started by dali_oracle.py with DALI's own Python.

Reads requests from stdin and answers on stdout until stdin closes. A message is an 8-byte
little-endian length, a JSON document of that length, and the raw bytes of its arrays, each
described in the document as ``{"array": index}``. Depends on numpy and DALI only.
"""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import sys
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np


def write_message(stream: BinaryIO, document: Any) -> None:
    """Writes a document that may hold NumPy arrays anywhere."""
    arrays: list[np.ndarray] = []

    def pack(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(np.ascontiguousarray(value).reshape(value.shape))
            return {"array": len(arrays) - 1}
        if isinstance(value, dict):
            return {key: pack(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [pack(item) for item in value]
        if isinstance(value, np.generic):
            return value.item()
        return value

    body = pack(document)
    described = [{"dtype": a.dtype.str, "shape": list(a.shape)} for a in arrays]
    text = json.dumps({"body": body, "arrays": described}).encode()
    stream.write(struct.pack("<Q", len(text)) + text)
    for array in arrays:
        stream.write(array.tobytes())
    stream.flush()


def read_message(stream: BinaryIO) -> Any:
    """Reads what write_message wrote; raises EOFError where the stream has ended."""
    header = stream.read(8)
    if len(header) < 8:
        raise EOFError("the stream has ended")
    message = json.loads(stream.read(struct.unpack("<Q", header)[0]))
    arrays = []
    for described in message["arrays"]:
        dtype, shape = np.dtype(described["dtype"]), tuple(described["shape"])
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        data = stream.read(size)
        if len(data) < size:
            raise EOFError("the stream has ended inside an array")
        arrays.append(np.frombuffer(data, dtype=dtype).reshape(shape))

    def unpack(value: Any) -> Any:
        if isinstance(value, dict):
            if set(value) == {"array"}:
                return arrays[value["array"]]
            return {key: unpack(item) for key, item in value.items()}
        if isinstance(value, list):
            return [unpack(item) for item in value]
        return value

    return unpack(message["body"])


def _argument(value: Any, types: Any) -> Any:
    """Turns ``{"enum": "DALIDataType", "value": 9}`` into DALI's enumerator."""
    if isinstance(value, dict):
        return getattr(types, value["enum"])(value["value"])
    if isinstance(value, list):
        return [_argument(item, types) for item in value]
    return value


def run_graph(graph: dict[str, Any]) -> Any:
    """Builds and runs a graph in DALI on the CPU; see dali_oracle.run_graph for its form.

    Returns the outputs of each iteration, or with "statistics" what executor_statistics() says.
    """
    from nvidia.dali import fn, math, newaxis, pipeline, types

    names = {"fn": fn, "math": math, "newaxis": newaxis, "np": np, "types": types}
    pipe = pipeline.Pipeline(
        batch_size=graph["batch_size"],
        num_threads=graph.get("num_threads", 1),
        device_id=None,
        seed=graph.get("seed", 1),
        **{
            "exec_async": False,
            "exec_pipelined": False,
            "enable_memory_stats": graph.get("statistics", False),
            **{k: _argument(v, types) for k, v in graph.get("options", {}).items()},
        },
    )
    with pipe:
        values: dict[str, Any] = {
            name: fn.external_source(
                name=name,
                layout=source.get("layout") or None,
                **{k: _argument(v, types) for k, v in source.get("args", {}).items()},
            )
            for name, source in graph["sources"].items()
        }
        for node in graph["nodes"]:
            if "expression" in node:
                made = eval(node["expression"], {**names, **values})
                values.update(zip(node["outputs"], made, strict=True))
                continue
            function: Any = fn
            for part in node["op"].split("."):
                function = getattr(function, part)
            kwargs = {name: _argument(arg, types) for name, arg in node.get("args", {}).items()}
            kwargs.update({name: values[of] for name, of in node.get("tensors", {}).items()})
            made = function(*(values[name] for name in node.get("inputs", [])), **kwargs)
            made = made if isinstance(made, list | tuple) else [made]
            values.update(zip(node["outputs"], made, strict=True))
        pipe.set_outputs(*(values[name] for name in graph["outputs"]))
    pipe.build()
    iterations = _iterations(pipe, graph["sources"], graph.get("iterations", 1))
    return pipe.executor_statistics() if graph.get("statistics") else iterations


def _iterations(pipe: Any, sources: dict[str, Any], count: int) -> list[list[dict[str, Any]]]:
    """Feeds and runs a pipeline; returns for each iteration its outputs."""
    iterations = []
    for iteration in range(count):
        for name, source in sources.items():
            pipe.feed_input(name, source["batches"][iteration], layout=source.get("fed_layout"))
        iterations.append(
            [
                {
                    "layout": output.layout(),
                    "samples": [np.array(output.at(i)) for i in range(len(output))],
                    "source_info": [sample.source_info() for sample in output],
                }
                for output in pipe.run()
            ]
        )
    return iterations


def run_program(request: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Runs a definition of a Python file in DALI with conditionals; see dali_oracle.run_program."""
    from nvidia.dali import fn, pipeline_def, types

    spec = importlib.util.spec_from_file_location("dali_programs", request["path"])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["dali_programs"] = module
    spec.loader.exec_module(module)
    module.fn, module.types = fn, types
    if hasattr(module, "numba_function"):
        from nvidia.dali.plugin import numba

        module.numba_function = numba.fn.experimental.numba_function
    function = getattr(module, request["name"])
    sources = request["sources"]

    @pipeline_def(
        batch_size=request["batch_size"],
        num_threads=1,
        device_id=None,
        seed=1,
        exec_async=False,
        exec_pipelined=False,
        enable_conditionals=True,
    )
    def definition() -> Any:
        inputs = {
            name: fn.external_source(name=name, layout=source.get("layout") or None)
            for name, source in sources.items()
        }
        return function(*inputs.values())

    pipe = definition()
    pipe.build()
    return _iterations(pipe, sources, request["iterations"])


def call(path: str, name: str, args: list[Any]) -> Any:
    """Calls a function of a Python file with the name of DALI's package and `args`."""
    found = sys.modules.get(path)
    if found is None:
        spec = importlib.util.spec_from_file_location(f"dali_{os.path.basename(path)[:-3]}", path)
        assert spec is not None
        assert spec.loader is not None
        found = sys.modules[spec.name] = sys.modules[path] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    return getattr(found, name)("nvidia.dali", *args)


def _described(value: Any) -> Any:
    """Describes what a method of a batch or tensor returned, the same for DALI and torchdali."""
    kind = type(value).__name__
    if kind == "TensorCPU":
        return {
            "shape": list(value.shape()),
            "layout": value.layout(),
            "dtype": int(value.dtype),
            "values": np.array(value),
        }
    if kind == "TensorListCPU":
        return {
            "shape": [list(shape) for shape in value.shape()],
            "layout": value.layout(),
            "dtype": int(value.dtype),
            "samples": [np.array(value.at(i)) for i in range(len(value))],
        }
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.str, "values": value}
    if isinstance(value, list | tuple):
        return [_described(item) for item in value]
    return int(value) if hasattr(value, "__index__") else value


def call_tensors(backend: Any, data: Any, layout: str, calls: list[list[Any]]) -> list[Any]:
    """Makes a batch or tensor and calls its methods one after the other.

    Args:
        backend: the module with DALI's classes, of DALI or of torchdali.
        data: a list of arrays makes a TensorListCPU of TensorCPU, {"batch": array} one of an array,
            an array a TensorCPU.
        layout: of the samples.
        calls: method and arguments each; "[]" is a subscript, "dtype" is read, "list" iterates.

    Returns:
        For each call what it returned, or {"error": names of the exception and its bases}.
    """
    made: Any
    if isinstance(data, list):
        made = backend.TensorListCPU([backend.TensorCPU(a, layout) for a in data], layout)
    elif isinstance(data, dict):
        made = backend.TensorListCPU(data["batch"], layout)
    else:
        made = backend.TensorCPU(data, layout)
    answers = []
    for name, *args in calls:
        try:
            if name == "[]":
                value = made[args[0]]
            elif name == "list":
                value = list(made)
            else:
                value = getattr(made, name)
                value = value if name == "dtype" else value(*args)
            answers.append(_described(value))
        except Exception as error:  # the test compares them
            answers.append({"error": [cls.__name__ for cls in type(error).__mro__]})
    return answers


def _tensors(request: dict[str, Any]) -> list[Any]:
    from nvidia.dali import backend

    return call_tensors(backend, request["data"], request["layout"], request["calls"])


def _sources(request: dict[str, Any]) -> list[list[Any]]:
    import source_cells
    from nvidia.dali import Pipeline, backend, fn, types

    api = SimpleNamespace(Pipeline=Pipeline, backend=backend, fn=fn, types=types)
    return source_cells.run_all(api, request["source_cells"])


def _answer(request: dict[str, Any]) -> Any:
    if "calls" in request:
        return _tensors(request)
    if "source_cells" in request:
        return _sources(request)
    if "call" in request:
        return call(*request["call"])
    return run_program(request) if "path" in request else run_graph(request)


def main() -> None:
    """Answers requests; DALI's own prints go to stderr, so that they cannot disturb the answers."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            request = read_message(requests)
        except EOFError:
            return
        try:
            answer = {"result": _answer(request)}
        except Exception as error:  # the test decides what an error means
            answer = {"error": str(error), "type": type(error).__name__}
        write_message(answers, answer)


if __name__ == "__main__":
    main()
