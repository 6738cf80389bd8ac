// iota: each element is its own index along one dimension.
#include <algorithm>

#include "runtime/ops/lower.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>&, const Attrs& attrs) {
  if (!attrs.has("dtype") || !attrs.has("dimension")) throw_user_error("{}: 'dtype', 'shape' and 'dimension' are needed", op.name);
  TensorType type{attrs.dtype("dtype"), required_integers(op, attrs, "shape")};
  check_shape(op.name, type.shape);
  std::int64_t dimension = attrs.integer("dimension");
  if (dimension < 0 || dimension >= type.rank())
    throw_user_error("{}: dimension must be between 0 and the rank of the shape, got dimension={} for shape {}", op.name, dimension,
                     text_of(type.shape));
  if (type.dtype == DType::kBool) throw_user_error("{} does not accept dtype bool; use int32 and convert", op.name);
  return {type};
}

FactorRule no_rule(const std::vector<TensorType>&, const std::vector<TensorType>&, const Attrs&) { return {}; }

template <typename T>
void fill(const MutableView& result, int dimension) {
  const Shape& shape = result.type.shape;
  std::int64_t inner = 1, outer = 1;
  for (int d = 0; d < dimension; ++d) outer *= shape[d];
  for (int d = dimension + 1; d < int(shape.size()); ++d) inner *= shape[d];
  std::int64_t start = (*result.box)[dimension].start;
  T* out = result.as<T>();
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < shape[dimension]; ++i, out += inner) std::fill_n(out, inner, element_from<T>(start + i));
}

void kernel(const KernelArgs& args) {
  const MutableView& result = args.results[0];
  visit_dtype(result.type.dtype, [&](auto sample) { fill<decltype(sample)>(result, int(args.attrs.integer("dimension"))); });
}

Values expand(GraphBuilder& b, const OpDef& op, Args, const Attrs& attrs) {
  Attrs full = attrs;
  if (!attrs.has("dtype")) full.set("dtype", DType::kInt32);
  if (!attrs.has("dimension")) full.set("dimension", std::int64_t(0));
  if (attrs.has("shape")) full.set("shape", integer_list_of(attrs, "shape"));
  return b.emit(op, {}, full);
}

std::vector<Sample> samples() {
  std::vector<Sample> samples;
  for (DType dtype :
       {DType::kInt32, DType::kUint32, DType::kFloat32, DType::kComplex64, DType::kInt8, DType::kBfloat16, DType::kComplex128})
    for (std::int64_t dimension : {0, 1})
      samples.push_back({{}, Attrs{{"dtype", dtype}, {"shape", Shape{4, 6}}, {"dimension", dimension}}});
  samples.push_back({{}, Attrs{{"dtype", DType::kInt32}, {"shape", Shape{7}}, {"dimension", std::int64_t(0)}}});
  return samples;
}

constexpr AttrDef kAttrs[] = {{"shape", AttrDef::Kind::kScalarOrIntegers, true, "the shape of the result"},
                              {"dimension", AttrDef::Kind::kInteger, false, "along which the elements count up; 0 by default"},
                              {"dtype", AttrDef::Kind::kDType, false, "int32 by default"}};
constexpr std::string_view kAliases[] = {"broadcasted_iota"};

}  // namespace

const OpDef kIota = {.name = "iota",
                     .doc = "Each element is its index along one dimension.",
                     .aliases = kAliases,
                     .operands_min = 0,
                     .operands_max = 0,
                     .attrs = kAttrs,
                     .weakness = Weakness::kNever,
                     .expand = expand,
                     .infer = infer,
                     .rule = no_rule,
                     .kernel = kernel,
                     .constant = true,
                     .uses_position = true,
                     .samples = samples};

}  // namespace shardlab::ops
