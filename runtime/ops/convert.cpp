// convert: the same elements in another dtype.
#include "runtime/ops/lower.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {
namespace {

// To bool: whether it is not 0. To integers: cut towards zero, held at the limits, NaN gives 0 (as XLA). From complex: the real part.
template <typename To>
struct Convert {
  template <typename From>
  SHARDLAB_INLINE To operator()(From x) const {
    if constexpr (std::is_same_v<To, From>)
      return x;
    else if constexpr (std::is_same_v<To, bool>)
      return x != From(0);
    else if constexpr (std::is_same_v<From, Complex64>)
      return Convert<To>()(x.real());
    else if constexpr (std::is_same_v<To, Complex64>)
      return Complex64(float(x), 0.0f);
    else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>)
      return saturated(x);
    else
      return To(x);
  }

 private:
  SHARDLAB_INLINE static To saturated(double x) {
    constexpr double kLow = double(std::numeric_limits<To>::min()), kHigh = double(std::numeric_limits<To>::max());
    double held = x < kLow ? kLow : (x > kHigh ? kHigh : x);
    return x == x ? To(std::int64_t(held)) : To(0);
  }
};

TileFn convert_tile(std::span<const DType> operands, DType result) {
  return visit_dtype(result, [&](auto to) {
    return visit_dtype(operands[0], [&](auto from) { return tile_of_types<Convert<decltype(to)>, decltype(from)>(); });
  });
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const AttrValue* dtype = attrs.find("dtype");
  if (dtype == nullptr || !std::holds_alternative<DType>(*dtype))
    throw_user_error("{}: attribute 'dtype' is missing; name the wanted dtype", op.name);
  return {{std::get<DType>(*dtype), types[0].shape}};
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (!attrs.has("dtype")) throw_user_error("{}: attribute 'dtype' is missing; name the wanted dtype", op.name);
  return {value_of(b, args[0], attrs.dtype("dtype"))};
}

std::vector<Sample> samples() {
  std::vector<Sample> samples;
  for (DType from : kAllDTypes)
    for (DType to : kAllDTypes) samples.push_back({{{from, {4, 6}}}, Attrs{{"dtype", to}}});
  return samples;
}

constexpr AttrDef kAttrs[] = {{"dtype", AttrDef::Kind::kDType, true, "the dtype of the result"}};
constexpr std::string_view kAliases[] = {"convert_element_type", "astype"};

}  // namespace

const OpDef kConvert = {
    .name = "convert",
    .doc = "The same elements in another dtype; fractions are cut towards zero, complex numbers lose the imaginary part.",
    .aliases = kAliases,
    .attrs = kAttrs,
    .expand = expand,
    .infer = infer,
    .rule = elementwise_rule,
    .kernel = elementwise_kernel<convert_tile>,
    .tile = convert_tile,
    .elementwise = true,
    .samples = samples};

}  // namespace shardlab::ops
