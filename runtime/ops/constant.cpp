// constant: an array that is part of the program.
#include "runtime/ops/lower.h"

namespace shardlab::ops {
namespace {

const std::shared_ptr<const Literal>& literal_of(const OpDef& op, const Attrs& attrs) {
  const AttrValue* value = attrs.find("value");
  if (value == nullptr || !std::holds_alternative<std::shared_ptr<const Literal>>(*value))
    throw_user_error("{}: attribute 'value' is {}, wanted an array", op.name, value ? text_of(*value) : "missing");
  return std::get<std::shared_ptr<const Literal>>(*value);
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>&, const Attrs& attrs) { return {literal_of(op, attrs)->type}; }

FactorRule no_rule(const std::vector<TensorType>&, const std::vector<TensorType>&, const Attrs&) { return {}; }

void kernel(const KernelArgs& args) {
  const Literal& literal = args.attrs.literal("value");
  const MutableView& result = args.results[0];
  copy_box(literal.data->data(), whole(literal.type.shape), result.data, *result.box, *result.box, size_of(literal.type.dtype));
}

// The value is an array, or a number, which becomes a scalar of JAX's default dtype.
Values expand(GraphBuilder& b, const OpDef& op, Args, const Attrs& attrs) {
  const AttrValue* value = attrs.find("value");
  std::optional<Scalar> scalar;
  if (value != nullptr) {
    if (const bool* v = std::get_if<bool>(value)) scalar = Scalar{*v};
    if (const std::int64_t* v = std::get_if<std::int64_t>(value)) scalar = Scalar{*v};
    if (const double* v = std::get_if<double>(value)) scalar = Scalar{*v};
  }
  ValueId result = -1;
  if (scalar)
    result = scalar_constant(b, attrs.has("dtype") ? attrs.dtype("dtype") : dtype_of_arg(b, *scalar), *scalar);
  else
    result = b.emit1(op, {}, Attrs{{"value", literal_of(op, attrs)}});
  return {attrs.has("dtype") ? converted(b, result, attrs.dtype("dtype")) : result};
}

template <typename T>
Sample sample_of(const Shape& shape) {
  TensorType type{dtype_of<T>::value, shape};
  auto buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  for (std::int64_t i = 0; i < type.elements(); ++i) buffer->as<T>()[i] = element_from<T>(i * 7 % 5);
  return {{}, Attrs{{"value", std::make_shared<const Literal>(Literal{type, std::move(buffer)})}}};
}
std::vector<Sample> samples() {
  return {sample_of<float>({}),        sample_of<float>({2, 4}),  sample_of<std::int32_t>({7}), sample_of<std::uint32_t>({3}),
          sample_of<bool>({2, 2}),     sample_of<Complex64>({3}), sample_of<float>({0, 3}),     sample_of<Bfloat16>({3}),
          sample_of<std::int8_t>({3}), sample_of<Complex128>({2})};
}

constexpr AttrDef kAttrs[] = {{"value", AttrDef::Kind::kLiteral, true, "a number, or nested lists of numbers"},
                              {"dtype", AttrDef::Kind::kDType, false, "the dtype; by default int32, float32, complex64 or bool"}};
constexpr std::string_view kAliases[] = {"array"};

}  // namespace

const OpDef kConstant = {.name = "constant",
                         .doc = "An array of given values.",
                         .aliases = kAliases,
                         .operands_min = 0,
                         .operands_max = 0,
                         .attrs = kAttrs,
                         .expand = expand,
                         .infer = infer,
                         .rule = no_rule,
                         .kernel = kernel,
                         .constant = true,
                         .uses_position = true,
                         .samples = samples};

}  // namespace shardlab::ops
