# SPDX-License-Identifier: Apache-2.0
"""The mutants of torchdali/: small faults for tools/mutants.py, which says how they are written."""

from __future__ import annotations

from mutant_sources import Mutant

PYTHON = [
    # -- pipeline
    Mutant(
        100,
        "pipeline",
        "if [[wanted is not None and wanted != actual => wanted and wanted != actual]]:",
        "declared outputs: an `output_ndim` of 0 is not checked",
        "test_pipeline_arguments.py test_run.py test_pipeline_misuse.py",
        alternates=(
            "if [[expected is not None and expected != actual"
            " => expected and expected != actual]]:",
        ),
    ),
    Mutant(
        102,
        "pipeline",
        "self._depth = [[ahead if self._exec_pipelined else 1 => ahead]]",
        "exec_pipelined=False runs ahead",
        "test_run.py test_pipeline_arguments.py test_*depth*.py",
        alternates=("if [[not self.exec_pipelined => False]]: return 1",),
    ),
    Mutant(
        103,
        "pipeline",
        "while len(marks) > 1 and [[marks[1][0] <= taken => marks[1][0] < taken]]: marks.popleft()",
        "checkpoints hold where external sources were one iteration before",
        "test_checkpoints.py",
        alternates=(
            "while len(self._after) > 1 and"
            " [[self._after[1][0] <= taken => self._after[1][0] < taken]]: self._after.popleft()",
        ),
    ),
    Mutant(
        104,
        "pipeline",
        "ended=self._last_iter and [[not executor.pending => True]]",
        "checkpoints: the data counts as ended while batches are in flight",
        "test_checkpoints.py test_iterator_checkpoints.py",
        alternates=("ended=self._ended and [[self.is_empty => True]] and",),
    ),
    Mutant(
        107,
        "pipeline",
        "if [[stored != actual => False]]: raise _damaged(",
        "checkpoints: the checksum is not compared",
        "test_checkpoints.py",
    ),
    Mutant(
        108,
        "pipeline",
        'if [["seed" not in given => False]]:',
        "deserialize(): the copy of a pipeline without a seed draws other values",
        "test_serialization.py",
        alternates=('keeps_drawn_seed=[["seed" not in kwargs => False]]',),
    ),
    Mutant(
        109,
        "pipeline",
        "for key in self._value: if [[key not in keys => False]]:",
        "deserialize(): unknown entries are ignored",
        "test_serialization.py",
    ),
    # -- debug mode
    Mutant(
        115,
        "debug",
        "self._first_id += [[self._size or self._batch_size => self._batch_size]]",
        "debug mode: after a smaller batch random values differ from those of the pipeline",
        "test_debug.py",
        alternates=(
            "self._first_id += [[self._size.value or self._batch_size => self._batch_size]]",
            "self._results, self.begun, self._first_id = results, self.begun + 1,"
            " self._first_id + [[size => self._batch_size]]",
        ),
    ),
    # -- graph, arguments, subscripts
    Mutant(
        120,
        "graph",
        "if [[not value.is_integer() => False]]:",
        "fractions given as integer arguments are cut off",
        "test_definition.py test_contract.py test_errors.py test_bad_input.py",
    ),
    Mutant(
        122,
        "graph",
        "self.new_axes = [ [[axis - axes if after else axis => axis]] for after, axis in new_axes]",
        "subscripts: new axes after an ellipsis are counted from the beginning",
        "test_subscripts.py",
    ),
    Mutant(
        123,
        "graph",
        'if [["gpu" in (if_true.device, if_false.device) => if_true.device == "gpu"]]:',
        "branches join on the GPU only where the first is there",
        "test_gpu_conditionals.py",
    ),
    # -- conditionals
    Mutant(
        130,
        "conditionals",
        "if to is not None: to[0].guards = [[to[1] => to[0].guards]]",
        "an exception that leaves a branch does not leave its guards",
        "test_conditionals.py",
    ),
    Mutant(
        131,
        "conditionals",
        "self.before = [[self._values.restore() => self.before]]",
        "the second branch sees the variables and attributes that the first assigned",
        "test_conditionals*.py",
    ),
    # -- external sources and workers
    Mutant(
        140,
        "sources",
        "return batch if self._group.no_copy or self._group.parallel else"
        " [[_copied(batch) => batch]]",
        "data that is fed is not copied",
        "test_external_source*.py",
    ),
    Mutant(
        141,
        "sources",
        "self._iterator, self._given = iter(self._iterate()), [[0 => self._given]]",
        "checkpoints: items of earlier rounds of a source are counted",
        "test_checkpoints.py test_external_source*.py",
        alternates=(
            "self._given, self._has_cycled, self._lost = [[0 => self._given]], False, False",
        ),
    ),
    Mutant(
        143,
        "sources",
        "except WorkerFailure as failure: self._iteration += [[1 => 0]]"
        " raise self._failed(failure) from failure.cause",
        "a batch that failed in a worker is asked for again under its index",
        "test_parallel*.py",
        alternates=(
            "self._failed_in, self._used, self._iteration = turn, job,"
            " [[iteration + 1 => iteration]]",
        ),
    ),
    Mutant(
        145,
        "sources",
        "failure = failure_of(job.errors, job.slab) [[home.give_back(job.slab) ~> ]] raise failure",
        "shared memory of failed batches is lost",
        "test_worker*.py test_parallel*.py",
        alternates=(
            "error = job_error(job.errors, job.slab)"
            " [[self._slabs.give_back(queue, job.slab) ~> ]] raise error",
            "if self._jobs[queue].drop(job) and not job.leases:"
            " [[self._slabs.give_back(queue, job.slab) => pass]]",
        ),
    ),
    # -- DALI's iterators
    Mutant(
        150,
        "plugin",
        "batches = _ceil_div([[self._size - self._ahead => self._size]], step)",
        "iterators by size: what the last batch had of this epoch is not deducted",
        "test_iterator*.py test_pytorch_iterators.py",
    ),
    Mutant(
        151,
        "plugin",
        "except Exception: self._taken += [[1 => 0]] raise self._taken += 1 valid:",
        "iterators: a batch that failed does not count",
        "test_iterator*.py test_pytorch_iterators.py",
        alternates=("except Exception: self._taken += [[1 => 0]] raise try: rows",),
    ),
    # -- PipelineLoader
    Mutant(
        160,
        "loop",
        "int([[self.shard < left % self.num_shards => self.shard <= left % self.num_shards]])",
        'shards="exact": one rank too many has a sample more',
        "loop/*.py",
    ),
    Mutant(
        161,
        "loop",
        "had = [[min((number + 1) * self.batch_size, self.samples)"
        " => (number + 1) * self.batch_size]] * self.num_shards",
        "states: a last batch that is not full counts as full",
        "loop/*.py",
        alternates=(
            "consumed=[[min(self.size, self.begin.consumed + had) => self.begin.consumed + had]],",
        ),
    ),
    # -- DataLoader
    Mutant(
        170,
        "loader",
        "given = list(itertools.islice(self._source, [[max(self.drawn, 1) => self.drawn]]))",
        "resuming before the first batch begins with other indices",
        "loader/*.py",
        alternates=(
            "drawn = list(itertools.islice(self._source, [[max(self.drawn, 1) => self.drawn]]))",
            "self._reader.read([[1 => 0]], kept)",
        ),
    ),
    Mutant(
        171,
        "loader",
        "return [[found[:1] * missing + found => found]]",
        'on_error="replace": samples that fail before the first good one are left out',
        "loader/*.py",
    ),
    Mutant(
        172,
        "loader",
        "self.turn = [[(mark.worker + 1) % self._num_workers => mark.worker]]",
        "states: after resuming the wrong worker begins",
        "loader/*.py",
        alternates=(
            "self.turn = [[(step.worker + 1) % self._num_workers => step.worker]]",
            "self.turn = [[(worker + 1) % len(self._workers) => worker]]",
        ),
    ),
    # -- errors, tensors, types
    Mutant(
        181,
        "tensors",
        '"index": [[OutOfRangeError => ArgumentError]],',
        "errors of the engine about subscripts are no IndexError",
        "test_errors.py test_subscripts.py",
    ),
    Mutant(
        182,
        "tensors",
        "to += [[packed.nbytes => packed.numel()]]",
        "copy_to_external() packs samples too closely",
        "test_tensors.py",
    ),
    Mutant(
        183,
        "tensors",
        "if any([[stride < 0 or stride % max(array.itemsize, 1) => stride < 0]]"
        " for stride in array.strides):",
        "arrays with strides that are no multiple of an element are refused",
        "test_tensors*.py test_external_source_data.py",
    ),
    # -- automatic augmentation, statistics, Lightning
    Mutant(
        190,
        "auto_aug",
        "signed = signed_bin(m, seed=seed_of(seed, [[1 => 0]]), shape=shape)",
        "RandAugment: with a seed the sign follows from the operation",
        "auto_aug/*.py",
    ),
    Mutant(
        192,
        "stats",
        'if [[key.startswith("max_") or key == "now_ns" => key == "now_ns"]]',
        "stats(reset=True): maxima are differences",
        "test_stats.py",
    ),
]
