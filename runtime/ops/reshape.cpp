// reshape: the same elements in row-major order under another shape.
#include <cstring>
#include <numeric>

#include "runtime/ops/derive.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const Shape& shape = required_integers(op, attrs, "shape");
  check_shape(op.name, shape);
  if (element_count(shape) != types[0].elements())
    throw_user_error("cannot reshape array of shape {} (size {}) into shape {} (size {})", text_of(types[0].shape), types[0].elements(),
                     text_of(shape), element_count(shape));
  return {{types[0].dtype, shape}};
}

// How many parts of `rest` a dimension may be cut into, so that its major parts join those of the other side.
std::int64_t own_factor(std::int64_t rest, std::int64_t smaller, std::int64_t larger, std::int64_t common) {
  if (larger % smaller == 0 && rest % (larger / smaller) == 0) return larger / smaller;
  return rest > common ? rest / common : rest;
}

// Walks both shapes from the major end and cuts them at common divisors. Source: Shardy's reshape rule.
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) {
  FactorRule rule(operands, results);
  const Shape &in = operands[0].shape, &out = results[0].shape;
  if (element_count(in) == 0) {
    rule.fill(operands, results);
    return rule;
  }
  int i = 0, o = 0, in_rank = int(in.size()), out_rank = int(out.size());
  std::int64_t in_entered = 1, out_entered = 1, in_made = 1, out_made = 1;  // products of dimensions entered, of factors made
  while (i < in_rank || o < out_rank) {
    if (i < in_rank && in[std::size_t(i)] == 1) {
      rule.add(1, {i++}, {-1});
      continue;
    }
    if (o < out_rank && out[std::size_t(o)] == 1) {
      rule.add(1, {-1}, {o++});
      continue;
    }
    if (i < in_rank && in_entered == in_made) in_entered *= in[std::size_t(i)];
    if (o < out_rank && out_entered == out_made) out_entered *= out[std::size_t(o)];
    std::int64_t in_rest = in_entered / in_made, out_rest = out_entered / out_made;
    std::int64_t common = std::gcd(in_rest, out_rest);
    if (in_made == out_made && common > 1) {
      rule.add(common, {i}, {o});
      in_made *= common;
      out_made *= common;
    } else if (in_made == out_made) {
      rule.add(in_rest, {i}, {-1});
      rule.add(out_rest, {-1}, {o});
      in_made *= in_rest;
      out_made *= out_rest;
    } else if (in_made < out_made) {
      std::int64_t size = own_factor(in_rest, in_made, out_made, common);
      rule.add(size, {i}, {-1});
      in_made *= size;
    } else {
      std::int64_t size = own_factor(out_rest, out_made, in_made, common);
      rule.add(size, {-1}, {o});
      out_made *= size;
    }
    if (i < in_rank && in_entered == in_made) ++i;
    if (o < out_rank && out_entered == out_made) ++o;
  }
  rule.fill(operands, results);
  return rule;
}

void kernel(const KernelArgs& args) { std::memcpy(args.results[0].data, args.operands[0].data, std::size_t(args.results[0].type.bytes())); }

// One -1 takes what the other sizes leave.
Shape with_inferred_size(const Shape& from, const Shape& wanted) {
  int inferred = -1;
  std::int64_t known = 1;
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d] != -1) {
      if (wanted[d] < 0) throw_user_error("reshape: sizes are 0 or more, and one may be -1; got {}", text_of(wanted));
      known *= wanted[d];
      continue;
    }
    if (inferred >= 0) throw_user_error("reshape: can only specify one unknown axis size with a `-1` value, got {}", text_of(wanted));
    inferred = int(d);
  }
  if (inferred < 0) return wanted;
  std::int64_t elements = element_count(from);
  if (known == 0 || elements % known != 0)
    throw_user_error(
        "cannot reshape array of shape {} (size {}) into shape {} because the product of specified axis sizes ({}) does not "
        "evenly divide {}",
        text_of(from), elements, text_of(wanted), known, elements);
  Shape shape = wanted;
  shape[std::size_t(inferred)] = elements / known;
  return shape;
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (!attrs.has("shape")) throw_user_error("reshape: attribute 'shape' is missing");
  ValueId x = value_of(b, args[0]);
  Shape wanted = integer_list_of(attrs, "shape");
  Shape nonnegative = wanted;
  for (std::int64_t& size : nonnegative) size = size == -1 ? 1 : size;
  check_shape(op.name, nonnegative);
  Shape shape = with_inferred_size(b.shape(x), wanted);
  if (b.shape(x) == shape) return {x};
  return b.emit(op, {x}, Attrs{{"shape", shape}});
}

Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) { return {reshaped(b, args.cotangents[0], args.operand_types[0].shape)}; }

// The batch becomes the first dimension.
std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  Shape shape = args.attrs.integers("shape");
  shape.insert(shape.begin(), args.size);
  return {{reshaped(b, batched_at(b, args.operands[0], 0, args.size), shape), 0}};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape from, Shape to) { return Sample{{{dtype, std::move(from)}}, Attrs{{"shape", std::move(to)}}}; };
  return {sample(DType::kFloat32, {16}, {2, 8}),    sample(DType::kFloat32, {4, 6}, {6, 4}), sample(DType::kFloat32, {8, 1, 2}, {16}),
          sample(DType::kInt32, {2, 3, 4}, {6, 4}), sample(DType::kBool, {6}, {1, 6, 1}),    sample(DType::kComplex64, {12, 2}, {2, 12}),
          sample(DType::kFloat32, {}, {1, 1}),      sample(DType::kUint32, {0, 3}, {3, 0}),  sample(DType::kFloat32, {7}, {7, 1})};
}

constexpr AttrDef kAttrs[] = {{"shape", AttrDef::Kind::kScalarOrIntegers, true, "the new shape; one size may be -1"}};

}  // namespace

const OpDef kReshape = {.name = "reshape",
                        .doc = "The same elements in row-major order under another shape of equal size.",
                        .attrs = kAttrs,
                        .expand = expand,
                        .infer = infer,
                        .rule = rule,
                        .kernel = kernel,
                        .copies = true,
                        .pass_through = true,
                        .folds = true,
                        .jvp = linear_jvp,
                        .transpose = transpose_rule,
                        .batch = batch,
                        .samples = samples};

}  // namespace shardlab::ops
