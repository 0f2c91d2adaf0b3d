# SPDX-License-Identifier: Apache-2.0
"""What to use instead of the names of DALI that are missing, and why they are: data only.

docs/reference/missing_names.md shows it, and so does the text of the errors.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["REASONS", "Alternative", "alternative"]

# Short names of reasons -> heading and text on the page, in its order.
REASONS = {
    "framework": ("Other frameworks", "torchdali is for PyTorch."),
    "dynamic": (
        "Parts of the dynamic and the eager mode",
        "In torchdali, only pipelines have readers, streams and checkpoints.",
    ),
    "insides": (
        "Internals of DALI",
        "Helpers in public modules of DALI that its manual does not describe, and that have no "
        "meaning for another engine.",
    ),
}


class Alternative(NamedTuple):
    """Why a name is missing, a key of REASONS, and what to use instead."""

    reason: str
    fix: str


_FUNCTIONS = "call NumPy or torch in fn.python_function or fn.torch_python_function"
_DEFINITIONS = "define a pipeline with pipeline_def; debug=True runs operators as they are called"
_DLPACK = "take batches from torchdali.plugin.pytorch, and pass the tensors on with DLPack"
_PIPELINE = "define pipelines with pipeline_def, or use torchdali.Pipeline"
_REGISTERED = "ask torchdali.backend.RegisteredCPUOps() and its like"
_NOTHING = "remove the call: it is not needed"
_OWN_OPERATORS = (
    "write the operator in C++ (torchdali.extension) or in Python (fn.python_function, "
    "torchdali.plugin.numba)"
)

# By kind of the name, if the path has no entry of its own.
_BY_KIND = {
    "module": Alternative("insides", "docs/guide/from_dali.md lists the modules that are here"),
    "name": Alternative("insides", "docs/guide/from_dali.md lists what is different from DALI"),
}

# By path; the longest one that it starts with counts. "*." stands for fn, ops, eager and dynamic
# mode, and what follows also for names of classes.
_BY_PATH = {
    "experimental": Alternative("dynamic", _DEFINITIONS),
    "experimental.torchvision": Alternative(
        "framework", "use torchvision, or the operators of torchdali.fn"
    ),
    "plugin": Alternative("framework", "use torchdali.plugin.pytorch or torchdali.PipelineLoader"),
    "plugin.tf": Alternative("framework", _DLPACK),
    "plugin.jax": Alternative("framework", _DLPACK),
    "plugin.paddle": Alternative("framework", _DLPACK),
    "plugin.mxnet": Alternative("framework", _DLPACK),
    "plugin.triton": Alternative(
        "framework", "write the pipeline to a file with Pipeline.serialize"
    ),
    "plugin.pytorch.loader_evaluator": Alternative(
        "framework", "use stats() of the loader or torchdali.profile"
    ),
    "plugin.numba": Alternative(
        "insides", "use torchdali.plugin.numba.fn.experimental.numba_function"
    ),
    "plugin.numba.experimental.Pipeline": Alternative("insides", _PIPELINE),
    "auto_aug.core.decorator": Alternative("insides", "use torchdali.auto_aug.core.augmentation"),
    "backend_impl": Alternative("insides", "use torchdali.backend, types and tfrecord"),
    "internal": Alternative("insides", "use getattr() of Python on torchdali.fn and torchdali.ops"),
    "reducers": Alternative("insides", "use torchdali.pickling"),
    "types.tfrec": Alternative("insides", "use torchdali.tfrecord"),
    "plugin_manager": Alternative("insides", _OWN_OPERATORS),
    "plugin.pytorch.Pipeline": Alternative("insides", _PIPELINE),
    "plugin.pytorch.TensorCPU": Alternative("insides", "use torchdali.tensors"),
    "plugin.pytorch.TensorGPU": Alternative("insides", "use torchdali.tensors"),
    "plugin.pytorch.TensorListGPU": Alternative("insides", "use torchdali.tensors"),
    "ops.NumbaFunction": Alternative(
        "insides", "use torchdali.plugin.numba.fn.experimental.numba_function"
    ),
    "tensors.format_batch": Alternative("insides", "use str() of Python on the batch"),
    "tensors.format_tensor": Alternative("insides", "use str() of Python on the tensor"),
    "tensors.PipelineBatchAdapter": Alternative("insides", "use str() of Python on the batch"),
    "tensors.PipelineTensorAdapter": Alternative("insides", "use str() of Python on the tensor"),
    "pipeline.pipeline_tls": Alternative("insides", "use Pipeline.current()"),
    "data_node.not_iterable": Alternative("insides", "use iter() and catch TypeError"),
    "tensors.import_numpy": Alternative("insides", "import numpy in the program"),
    "pipeline.WorkerPool": Alternative(
        "insides", "give fn.external_source parallel=True, and Pipeline py_num_workers"
    ),
    "backend.Pipeline": Alternative("insides", _PIPELINE),
    "backend.PipelineDebug": Alternative("insides", "give pipeline_def debug=True"),
    "backend.Init": Alternative("insides", _NOTHING),
    "backend.initialized": Alternative("insides", _NOTHING),
    "backend.default_plugins": Alternative("insides", _OWN_OPERATORS),
    "backend.deprecation_warning": Alternative("insides", "use warnings.warn of Python"),
    "backend.check_cuda_runtime": Alternative("insides", "ask torch.cuda.is_available()"),
    "backend.cuda_checked": Alternative("insides", "ask torch.cuda.is_available()"),
    "backend.EagerOperatorCPU": Alternative("insides", "call torchdali.functional"),
    "backend.EagerOperatorGPU": Alternative("insides", "call torchdali.functional"),
    "backend.EagerOperatorMixed": Alternative("insides", "call torchdali.functional"),
    "backend.ExternalContextCheckpoint": Alternative("insides", "use Pipeline.checkpoint()"),
    "backend.OpNode": Alternative("insides", "use torchdali.fn, which returns data nodes"),
    "backend.OpSpec": Alternative("insides", "use torchdali.fn, which returns data nodes"),
    "backend.SharedMem": Alternative("insides", "use multiprocessing.shared_memory of Python"),
    "fn.hidden": Alternative("insides", "use torchdali.fn, with `if` and arithmetic of Python"),
    "ops.hidden": Alternative("insides", "use torchdali.fn, with `if` and arithmetic of Python"),
    "ops.Reload": Alternative("insides", _NOTHING),
    "ops.cpu_ops": Alternative("insides", _REGISTERED),
    "ops.gpu_ops": Alternative("insides", _REGISTERED),
    "ops.mixed_ops": Alternative("insides", _REGISTERED),
    "ops.python_op_factory": Alternative("insides", _OWN_OPERATORS),
    "ops.register_cpu_op": Alternative("insides", _OWN_OPERATORS),
    "ops.register_gpu_op": Alternative("insides", _OWN_OPERATORS),
    "*.arithmetic_generic_op": Alternative(
        "insides", "write the expression with the operators of Python and torchdali.math"
    ),
    "*.constant": Alternative("insides", "use types.Constant"),
    "*.experimental.inputs": Alternative(
        "dynamic", "use fn.experimental.inputs.video in a pipeline"
    ),
}
_OPERATORS = ("fn", "ops", "experimental.eager", "experimental.dynamic")


def _plain(path: str) -> str:
    """Returns the same text for the names of an operator in fn and in ops."""
    return path.replace("_", "").lower()


_OWN = {
    key: found
    for path, found in _BY_PATH.items()
    for key in (
        [_plain(path.replace("*", package)) for package in _OPERATORS]
        if path.startswith("*.")
        else [path]
    )
}


def alternative(path: str, kind: str) -> Alternative:
    """Returns what to use instead of a name of DALI.

    Args:
        path: the name with its modules, without the package.
        kind: its kind in dali_names.json.
    """
    of_operators = path.startswith(tuple(f"{package}." for package in _OPERATORS))
    spellings = (path, _plain(path)) if of_operators else (path,)
    own = [key for key in _OWN if any(f"{one}.".startswith(f"{key}.") for one in spellings)]
    if own:
        return _OWN[max(own, key=len)]
    return _BY_KIND.get(kind, Alternative("insides", _FUNCTIONS))
