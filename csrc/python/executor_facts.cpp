// SPDX-License-Identifier: Apache-2.0
#include "python/executor_facts.h"

namespace torchdali {

nb::dict memory_facts(const Executor& executor) {
  nb::dict all;
  for (const OperatorMemory& op : executor.memory_statistics()) {
    nb::list outputs;
    for (const OutputMemory& m : op.outputs)
      outputs.append(nb::make_tuple(m.real, m.max_real, m.reserved, m.max_reserved));
    all[nb::str(op.name.data(), op.name.size())] = outputs;
  }
  return all;
}

nb::dict measure_facts(const Executor& executor) {
  nb::list operators, workers;
  const auto part = [](const OperatorMeasure::Part& p) {
    return nb::make_tuple(p.op, p.name, decode_path(p.location));
  };
  for (const OperatorMeasure& m : executor.operator_measures()) {
    nb::list parts;
    for (const auto& p : m.parts) parts.append(part(p));
    nb::dict d;
    d["self"] = part(m.self);
    d["parts"] = parts;
    d["hidden"] = m.hidden;
    d["on_gpu"] = m.on_gpu;
    d["samples"] = m.samples;
    d["timed"] = m.timed;
    d["ns"] = m.ns;
    d["max_ns"] = m.max_ns;
    d["bytes"] = m.bytes;
    d["batches"] = m.batches;
    d["batch_samples"] = m.batch_samples;
    d["batch_ns"] = m.batch_ns;
    d["max_batch_ns"] = m.max_batch_ns;
    d["batch_bytes"] = m.batch_bytes;
    d["source_batches"] = m.source_batches;
    d["source_ns"] = m.source_ns;
    d["max_source_ns"] = m.max_source_ns;
    nb::dict counts;
    for (const auto& [what, count] : m.counts) counts[nb::str(what.data(), what.size())] = count;
    d["counts"] = counts;
    operators.append(d);
  }
  const SchedulerMeasure measure = executor.scheduler_measure();
  for (const WorkerMeasure& w : measure.workers) {
    nb::dict d;
    d["wall_ns"] = w.wall_ns;
    d["busy_ns"] = w.busy_ns;
    d["idle_ns"] = w.idle_ns;
    d["waiting_ns"] = w.waiting_ns;
    d["parked_ns"] = w.parked_ns;
    d["claims"] = w.claims;
    d["cpu_ns"] = w.cpu_ns;
    workers.append(d);
  }
  nb::dict all;
  all["now_ns"] = now_ns();
  all["began_ns"] = measure.began_ns;
  all["operators"] = operators;
  all["workers"] = workers;
  all["ready"] = measure.ready;
  all["waits"] = measure.waits;
  all["wait_ns"] = measure.wait_ns;
  all["max_wait_ns"] = measure.max_wait_ns;
  return all;
}

}  // namespace torchdali
