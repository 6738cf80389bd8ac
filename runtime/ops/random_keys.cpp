#include "runtime/ops/random_keys.h"

namespace shardlab::ops {
namespace {

Shape without_first(const Shape& shape, std::size_t count) { return {shape.begin() + std::ptrdiff_t(count), shape.end()}; }
Box without_first(const Box& box, std::size_t count) { return {box.begin() + std::ptrdiff_t(count), box.end()}; }

// One element of a batch of a tensor's part.
struct Element {
  TensorType type;
  Box box;
  Shape array;
  std::int64_t offset = 0;  // in elements

  Element(const TensorType& of, const Box& whole, const Shape& whole_array, const Shape& index)
      : type{of.dtype, without_first(of.shape, index.size())},
        box(without_first(whole, index.size())),
        array(without_first(whole_array, index.size())) {
    for (std::size_t d = 0; d < index.size(); ++d) offset = offset * of.shape[d] + index[d] - whole[d].start;
    offset *= type.elements();
  }
};

}  // namespace

ValueId key_operand(GraphBuilder& b, const OpDef& op, const Arg& arg) {
  ValueId key = value_of(b, arg);
  if (const TensorType type = b.type(key); type.dtype != DType::kUint32 || type.shape != Shape{2})
    throw_user_error("{} accepts a single key, uint32[2] as random.key makes it, but was given {}; use vmap for batching", op.name,
                     type.text());
  return key;
}

Shape check_keys(const OpDef& op, const TensorType& type) {
  if (type.dtype != DType::kUint32 || type.shape.empty() || type.shape.back() != 2)
    throw_user_error("{} accepts keys, uint32[…, 2] as random.key makes them, but was given {}", op.name, type.text());
  return {type.shape.begin(), type.shape.end() - 1};
}

FactorRule key_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) {
  FactorRule rule(operands, results);
  const int batch = operands[0].rank() - 1;
  for (int d = 0; d < batch; ++d)
    rule.add(operands[0].shape[std::size_t(d)], std::vector<int>(operands.size(), d), std::vector<int>(results.size(), d));
  std::vector<int> key_dim(operands.size(), -1);
  key_dim[0] = batch;
  rule.add(2, key_dim, std::vector<int>(results.size(), -1), FactorKind::kReplicate);
  for (int d = batch; d < results[0].rank(); ++d) {
    std::vector<int> dims;
    for (std::size_t i = 0; i < operands.size(); ++i) dims.push_back(i > 0 && d < operands[i].rank() ? d : -1);
    rule.add(results[0].shape[std::size_t(d)], dims, std::vector<int>(results.size(), d));
  }
  return rule;
}

std::vector<NeededBox> needed_keys(const std::vector<TensorType>& operands, const std::vector<TensorType>&, const Attrs&,
                                   const Box& result) {
  Box keys(result.begin(), result.begin() + (operands[0].rank() - 1));
  keys.push_back({0, 2});
  return {{keys}};
}

std::vector<Batched> batch_of_keys(GraphBuilder& b, const BatchArgs& args) {
  Values operands;
  for (const Batched& each : args.operands) operands.push_back(batched_at(b, each, 0, args.size));
  std::vector<Batched> results;
  for (ValueId id : b.emit(args.op, operands, args.attrs)) results.push_back({id, 0});
  return results;
}

void for_each_key(const KernelArgs& args, KeyKernel kernel) {
  const std::size_t batch = args.operands[0].type.shape.size() - 1;
  if (batch == 0) return kernel(args);
  const Box& part = *args.results[0].box;
  Shape index;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < batch; ++d) {
    index.push_back(part[d].start);
    count *= part[d].size();
  }
  for (std::int64_t n = 0; n < count; ++n) {
    std::vector<Element> in, out;
    for (const ConstView& view : args.operands) in.emplace_back(view.type, *view.box, *view.array, index);
    for (const MutableView& view : args.results) out.emplace_back(view.type, *view.box, view.type.shape, index);
    std::vector<ConstView> operands;
    std::vector<MutableView> results;
    for (std::size_t i = 0; i < in.size(); ++i)
      operands.push_back({in[i].type, args.operands[i].data + in[i].offset * size_of(in[i].type.dtype), &in[i].box, &in[i].array});
    for (std::size_t i = 0; i < out.size(); ++i)
      results.push_back({out[i].type, args.results[i].data + out[i].offset * size_of(out[i].type.dtype), &out[i].box});
    kernel({operands, results, args.attrs});
    for (std::size_t d = batch; d-- > 0;) {
      if (++index[d] < part[d].stop) break;
      index[d] = part[d].start;
    }
  }
}

}  // namespace shardlab::ops
