#include "tests/virtualdev/cuda/cases.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "runtime/ops/conv_dims.h"
#include "tests/ops/evaluate.h"

namespace shardlab::testing {

using testing_ops::describe;

namespace {

Case made(const OpDef& op, const Sample& sample, std::vector<TensorType> results, std::vector<Box> operand_boxes,
          std::vector<Box> result_boxes, cuda::Libraries libraries) {
  Case c{&op, sample, std::move(results), std::move(operand_boxes), std::move(result_boxes), {}, describe(op, sample)};
  std::vector<ConstView> operands;
  std::vector<MutableView> outs;
  for (std::size_t i = 0; i < sample.operands.size(); ++i)
    operands.push_back(
        {{sample.operands[i].dtype, shape_of(c.operand_boxes[i])}, nullptr, &c.operand_boxes[i], &c.sample.operands[i].shape});
  for (std::size_t i = 0; i < c.results.size(); ++i)
    outs.push_back({{c.results[i].dtype, shape_of(c.result_boxes[i])}, nullptr, &c.result_boxes[i]});
  c.plan = cuda::plan_node(op, {operands, outs, c.sample.attrs}, libraries);
  return c;
}

// Convolutions that fill tiles, and their edges: features of both sides that are no multiples of a tile, both orders of memory, everything
// that moves a window.
std::vector<std::pair<std::string_view, Sample>> tiled_samples() {
  using List = std::vector<std::int64_t>;
  std::vector<std::pair<std::string_view, Sample>> samples;
  for (DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    auto add = [&](Shape lhs, Shape rhs, ops::ConvDims dims) {
      for (List* list : {&dims.lhs, &dims.rhs, &dims.out})
        if (list->empty()) {
          list->resize(lhs.size());
          std::iota(list->begin(), list->end(), std::int64_t(0));
        }
      Attrs attrs;
      dims.set(attrs);
      samples.push_back({"conv", {{{dtype, std::move(lhs)}, {dtype, std::move(rhs)}}, std::move(attrs)}});
    };
    auto windows = [](List strides, List padding, List lhs_dilation, List rhs_dilation) {
      ops::ConvDims dims;
      dims.strides = std::move(strides);
      dims.padding = std::move(padding);
      dims.lhs_dilation = std::move(lhs_dilation);
      dims.rhs_dilation = std::move(rhs_dilation);
      return dims;
    };
    add({2, 3, 9, 8}, {70, 3, 3, 2}, windows({1, 1}, {1, 1, 0, 1}, {1, 1}, {1, 1}));
    add({2, 19, 7, 7}, {17, 19, 3, 3}, windows({2, 1}, {1, 2, -1, 2}, {1, 2}, {2, 1}));
    ops::ConvDims last = windows({1, 2}, {1, 1, 1, 1}, {1, 1}, {1, 1});  // features last
    last.lhs = last.out = {0, 3, 1, 2};
    last.rhs = {3, 2, 0, 1};
    add({3, 8, 9, 5}, {3, 3, 5, 66}, last);
    add({70, 33}, {16, 33}, windows({}, {}, {}, {}));
    add({2, 2, 40}, {16, 2, 5}, windows({1}, {2, 2}, {1}, {1}));
    add({1, 2, 4, 4, 4}, {16, 2, 2, 2, 2}, windows({1, 1, 1}, {0, 1, 1, 0, 0, 0}, {1, 1, 1}, {1, 1, 1}));
  }
  return samples;
}

// With libraries that may be missing, where their having or lacking makes a difference, and without them.
void add(std::vector<Case>& cases, const OpDef& op, const Sample& sample, const std::vector<TensorType>& results,
         const std::vector<Box>& operands, const std::vector<Box>& outs, std::string_view what) {
  for (const bool has_sorts : {false, true}) {
    Case c = made(op, sample, results, operands, outs, {.has_sorts = has_sorts});
    if (has_sorts && !needs_sorts(c)) continue;
    c.what += std::string(what) + (has_sorts ? " (by CUB)" : "");
    cases.push_back(std::move(c));
  }
}

// Rows of one and of several keys, long enough for a radix sort, of every dtype.
std::vector<std::pair<std::string_view, Sample>> sorted_samples() {
  std::vector<std::pair<std::string_view, Sample>> samples;
  for (std::size_t i = 0; i < all_dtypes().size(); ++i) {
    const DType dtype = DType(i);
    for (const auto& [shape, axis] :
         std::vector<std::pair<Shape, std::int64_t>>{{{700}, 0}, {{2, 5000}, 1}, {{600, 3}, 0}, {{2, 5000, 2}, 1}}) {
      const TensorType type{dtype, shape}, also{DType::kInt8, shape};
      samples.push_back({"sort", {{type, also}, {{"axis", axis}}}});
      if (axis == 0) samples.push_back({"sort", {{also, type, {DType::kInt32, shape}}, {{"axis", axis}, {"num_keys", std::int64_t(2)}}}});
      if (!is_complex(dtype) && axis + 1 == std::int64_t(shape.size())) samples.push_back({"top_k", {{type}, {{"k", std::int64_t(40)}}}});
    }
  }
  return samples;
}

// Larger arrays than samples are, for which kernels have ways of their own: rows in parts, columns in stages, tiles, neighbours moved as
// one.
std::vector<std::pair<std::string_view, Sample>> larger_samples() {
  using Axes = std::vector<std::int64_t>;
  std::vector<std::pair<std::string_view, Sample>> samples;
  for (DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kInt8, DType::kComplex128}) {
    auto add = [&](std::string_view op, Shape shape, Attrs attrs) {
      samples.push_back({op, {{{dtype, std::move(shape)}}, std::move(attrs)}});
    };
    for (const auto& [shape, axes] : std::vector<std::pair<Shape, Axes>>{{{140000}, {0}},
                                                                         {{3, 70001}, {1}},
                                                                         {{64, 8}, {1}},
                                                                         {{300, 3}, {0}},
                                                                         {{40000, 2}, {0}},
                                                                         {{2, 200, 5}, {1}},
                                                                         {{5000, 40}, {0}},
                                                                         {{3, 400, 24}, {1}},
                                                                         {{5, 70, 3}, {0, 2}},
                                                                         {{4, 65}, {1}}})
      add("reduce_sum", shape, {{"axes", axes}});
    for (const auto& [shape, axes] : std::vector<std::pair<Shape, Axes>>{{{70, 50}, {1, 0}},
                                                                         {{3, 33, 65}, {0, 2, 1}},
                                                                         {{16, 33, 20}, {2, 0, 1}},
                                                                         {{16, 33, 20}, {2, 1, 0}},
                                                                         {{9, 3, 20}, {1, 0, 2}},
                                                                         {{3, 130, 68}, {0, 2, 1}}})
      add("transpose", shape, {{"axes", axes}});
    add("slice", {10, 64}, {{"start", Axes{2, 16}}, {"limit", Axes{9, 48}}, {"stride", Axes{1, 1}}});
    add("slice", {10, 64}, {{"start", Axes{2, 3}}, {"limit", Axes{9, 48}}, {"stride", Axes{2, 1}}});
    add("neg", {1003}, {});
    for (const auto& [shape, axis] : std::vector<std::pair<Shape, std::int64_t>>{
             {{600}, 0}, {{2, 700}, 1}, {{700, 3}, 0}, {{2, 300, 5}, 1}, {{3, 4101}, 1}, {{2048}, 0}})
      for (bool reverse : {false, true})
        if (size_of(dtype) > 2) add("cumsum", shape, {{"axis", axis}, {"reverse", reverse}});
    if (is_complex(dtype)) continue;
    add("argmax", {2, 70000}, {{"axis", std::int64_t(1)}});
    add("argmax", {3, 1001}, {{"axis", std::int64_t(1)}});
    add("argmax", {300, 3}, {{"axis", std::int64_t(0)}});
    add("argmin", {70, 16 * 1024}, {{"axis", std::int64_t(0)}});
  }
  return samples;
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const OpDef* op : all_ops()) {
    if (!op->is_primitive()) continue;
    std::vector<Sample> samples = op->samples();
    // Random numbers of a batch of keys, which vmap makes.
    if (op->name.starts_with("random_"))
      for (Sample sample : op->samples()) {
        for (TensorType& type : sample.operands) type.shape.insert(type.shape.begin(), 3);
        samples.push_back(std::move(sample));
      }
    for (const auto& larger : {larger_samples(), sorted_samples(), tiled_samples()})
      for (const auto& [name, sample] : larger)
        if (op->name == name) samples.push_back(sample);
    for (const Sample& sample : samples) {
      std::vector<TensorType> results = op->infer(*op, sample.operands, sample.attrs);
      std::vector<Box> operands, outs;
      for (const TensorType& type : sample.operands) operands.push_back(whole(type.shape));
      for (const TensorType& type : results) outs.push_back(whole(type.shape));
      add(cases, *op, sample, results, operands, outs, "");
      bool is_positional = op->uses_position && sample.operands.empty();
      if ((op->needs == nullptr && !is_positional) || results[0].shape.empty() || results[0].shape[0] < 2) continue;
      for (Box& box : outs) box[0].start = box[0].stop / 2;
      if (op->needs != nullptr) {
        std::vector<NeededBox> needed = op->needs(sample.operands, results, sample.attrs, outs[0]);
        for (std::size_t i = 0; i < needed.size(); ++i) operands[i] = needed[i].box;
      }
      add(cases, *op, sample, results, operands, outs, " (part)");
    }
  }
  return cases;
}

bool needs_sorts(const Case& c) {
  return std::any_of(c.plan.calls.begin(), c.plan.calls.end(), [](const cuda::Call& call) { return call.kind == cuda::Call::Kind::kSort; });
}

std::vector<cuda::KernelText> kernels_of(const std::vector<Case>& cases) {
  std::vector<cuda::KernelText> kernels;
  std::set<std::string> names;
  for (const Case& c : cases)
    for (const cuda::Call& call : c.plan.calls)
      if (!call.kernel.body.empty() && names.insert(call.kernel.name()).second) kernels.push_back(call.kernel);
  return kernels;
}

}  // namespace shardlab::testing
