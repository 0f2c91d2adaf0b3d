# SPDX-License-Identifier: Apache-2.0
"""The mutants of csrc/: small faults for tools/mutants.py, which says how they are written."""

from __future__ import annotations

from mutant_sources import Mutant

ENGINE = [
    # -- core
    Mutant(
        2,
        "core",
        "return [[value < high ? value : low < high ? std::nextafterf(high, low) : low => value]];",
        "uniform floats may reach the upper end by rounding",
        "test_random*.py test_noise*.py test_distributions.py",
    ),
    Mutant(
        3,
        "core",
        "return [[(static_cast<uint64_t>(epoch) << 34) => static_cast<uint64_t>(0)]]"
        " + static_cast<uint64_t>(position(k));",
        "random values repeat in each epoch of PipelineLoader",
        "loop/*.py",
    ),
    Mutant(
        4,
        "core",
        "if ([[s.is_unshared() => true]] && s.size_bytes() >= size_bytes",
        "output memory is reused while the user holds it",
        "test_run.py test_determinism.py test_tensors.py test_worker_memory.py",
        alternates=("if ([[s.use_count() == 1 => true]] && s.nbytes() >= size_bytes",),
    ),
    # -- kernels
    Mutant(
        11,
        "kernels",
        "* ([[axis.antialias && scale > 1 => scale > 1]] ? scale : 1.0f);",
        "resampling: antialias=False is ignored",
        "test_resize*.py",
    ),
    Mutant(
        13,
        "kernels",
        "blended + [[reflected(width_ - 1 + k, width_) => reflected(width_ - k, width_)]]"
        " * channels_, pixel);",
        "separable filters repeat the last column at the right border",
        "test_gaussian_blur.py test_laplacian.py",
    ),
    Mutant(
        14,
        "kernels",
        "return [[b < kWidth => b <= kWidth]] ? static_cast<T>(shifted) : T(0);",
        "a shift by the width of the type is no shift",
        "test_expressions.py test_arithmetic*.py",
    ),
    Mutant(
        15,
        "kernels",
        "return [[truncate_saturating<Out>(value) => convert<Out>(value)]];",
        "integer means and roots are rounded, not cut off",
        "test_reductions*.py",
    ),
    Mutant(
        17,
        "kernels",
        "[[first.begin < second.end && second.begin < first.end"
        " => first.begin <= second.end && second.begin <= first.end]]",
        "blobs: diagonal neighbors are connected",
        "test_segmentation*.py test_blobs*.py",
    ),
    Mutant(
        18,
        "kernels",
        "const auto rounded = [](float weight) {"
        " return static_cast<int32_t>([[weight + kHalf => weight]]); };",
        "warping in fixed point cuts weights off",
        "test_warp*.py test_rotate.py",
    ),
    Mutant(
        19,
        "kernels",
        "+ (second ? [[7 => 8]] : 8)) >> 4);",
        "JPEG: smooth upsampling always rounds one way",
        "test_jpeg*.py test_decoders*.py *image_decoder*.py",
    ),
    # -- io
    Mutant(
        30,
        "io",
        "type == kShort ? entry.u16() : [[type == kLong => false]] ? entry.u32() : 0;",
        "an EXIF orientation of type LONG is ignored",
        "*exif*.py test_decoders*.py *image_files*.py",
    ),
    Mutant(
        31,
        "io",
        "if ([[end == info.height || interlaced => interlaced]]) check(finish(d));",
        "PNG: the end of the file is not read",
        "test_decoders*.py *png*.py test_bad_input.py",
    ),
    Mutant(
        33,
        "io",
        "s.reads.erase(number); s.count();"
        " [[s.bytes -= read->bytes.size_ ~> ]]; s.room.notify_all();",
        "files read ahead never give their share of memory back",
        "*read*.py",
    ),
    Mutant(
        34,
        "io",
        "if ([[h.components != 3 || h.jfif => h.components != 3]]) return false;",
        "JPEG: a JFIF file with an Adobe marker may be taken as RGB",
        "test_decoders*.py *jpeg*.py",
    ),
    # -- ops
    Mutant(
        40,
        "ops",
        "static_cast<int64_t>(truncate_ ? start : [[std::round(start) => std::nearbyint(start)]]);",
        "crop positions: halves are rounded to even",
        "test_crop*.py",
    ),
    Mutant(
        41,
        "ops",
        "out[i] = [[values[values.size() == 1 ? 0 : i] * static_cast<float>(shape[axes.axes[i]])"
        " => values[values.size() == 1 ? 0 : i] * static_cast<double>(shape[axes.axes[i]])]];",
        "relative slices are computed in double",
        "test_slice.py *image_slice*.py",
    ),
    Mutant(
        43,
        "ops",
        "if ([[rounded_ratio >= ratio_.low && rounded_ratio <= ratio_.high => true]]) return size;",
        "random crops: rounding may push the aspect ratio out of its range",
        "test_random_crop*.py test_random_resized_crop.py *random_crop*.py",
    ),
    Mutant(
        44,
        "ops",
        "if (padding) offset = [[size - 1 => 0]];",
        "reader: padding repeats the first sample of the shard",
        "*readers*.py *file*.py test_iterator*.py",
    ),
    Mutant(
        46,
        "ops",
        "if ([[values[a] <= most => values[a] < most]]) continue;",
        "box_encoder: of equally good anchors a box takes the first",
        "test_box_encoder.py",
    ),
    Mutant(
        47,
        "ops",
        "if ([[value >= thresholds[option] => value > thresholds[option]]] && (boxes.empty()",
        "random_bbox_crop: a window right at the threshold is refused",
        "test_random_bbox_crop.py",
    ),
    Mutant(
        48,
        "ops",
        "region.shape[axis] = position([[begin + shape => std::max(begin, 0.0f) + shape]],"
        " in.shape[axis])",
        "erase: regions that begin outside keep their extent",
        "test_erase.py",
    ),
    # -- executor
    Mutant(
        60,
        "executor",
        "if ([[claim.error && claim.failed < e.first_failed => claim.error != nullptr]]) {",
        "the last failing sample of a batch is reported, not the first",
        "test_errors.py test_order_of_work.py",
    ),
    Mutant(
        61,
        "executor",
        "if (admits && can_use_another_worker()) [[work_.notify_one() ~> ]];",
        "taking a batch does not wake a worker for limited stages",
        "test_*depth*.py test_order_of_work.py test_run.py",
    ),
    Mutant(
        62,
        "executor",
        "if ([[owner != nullptr => false]]) ++owner->users;",
        "a view of a value does not keep its memory",
        "test_run.py test_fusion.py test_expand_dims.py test_reshape.py test_squeeze.py",
    ),
    Mutant(
        64,
        "executor",
        "return ImagePart::Axis{.begin = begin, .extent ="
        " [[(axis.end() + scale - 1) / scale - begin => axis.end() / scale - begin]]};",
        "a window that is decoded at a smaller scale lacks its last pixels",
        "test_fusion.py *image_decoder*.py test_random_resized_crop.py test_decoders*.py",
    ),
    Mutant(
        65,
        "executor",
        "const bool fits = is_step(node) && is_step(producer) &&"
        " [[(root == kNone || root == own) => true]] &&",
        "expressions are fused although another expression uses their value",
        "test_expressions.py test_fusion.py",
    ),
    Mutant(
        67,
        "executor",
        "while (is(end, ImageRole::kWindow, ImageRole::kFlip, ImageRole::kPixelwise)) ++end;"
        " end += is(end, [[ImageRole::kNormalizer => ImageRole::kDecoder]]);",
        "a normalizer is not fused into a chain",
        "test_fusion.py test_plan.py",
    ),
    # -- gpu
    Mutant(
        70,
        "gpu",
        "inside = inside && at >= task.low[a] && [[at < task.high[a] => at <= task.high[a]]];",
        "GPU windows read one element past the input instead of filling",
        "test_twins.py test_gpu_matches_cpu.py test_crop*.py",
    ),
    Mutant(
        72,
        "gpu",
        "if ([[task.values == 0 => false]]) value = kernels::limit_of_nothing<T>(Acc::kMin);",
        "GPU extremes of nothing are infinite",
        "test_twins.py test_gpu_matches_cpu.py",
    ),
    Mutant(
        73,
        "gpu",
        "return outer.whole() && inner.whole() &&"
        " [[outer.in_stride == inner.in_stride * inner.extent => true]] &&",
        "GPU copies merge axes whose input has gaps",
        "test_twins.py test_gpu_matches_cpu.py test_cuda.py",
    ),
    Mutant(
        75,
        "gpu",
        "if (e.sample() < 0) e.set_sample([[ctx.index_in_batch(k) => k]]);",
        "errors of GPU operators in a branch name the wrong sample",
        "test_gpu_conditionals.py gpu/*.py",
    ),
    # -- workers and bindings
    Mutant(
        80,
        "workers",
        "!std::equal(first.shape, first.shape + first.ndim, r.shape) ||"
        " [[r.offset != first.offset + bytes * i => false]]) return false;",
        "samples that lie apart in shared memory are taken for one array",
        "test_parallel*.py test_worker*.py loader/*.py",
    ),
    Mutant(
        82,
        "workers",
        "if (failed) { e.failed = 1; [[drop_rest(task.job) ~> ]]; }",
        "after a sample has failed, workers go on with its batch",
        "test_parallel*.py test_worker*.py",
    ),
]
