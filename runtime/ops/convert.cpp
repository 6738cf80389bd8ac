// convert: the same elements in another dtype.
#include <algorithm>
#include <limits>

#include "runtime/ops/derive.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {
namespace {

// To bool: whether it is not 0. To integers: cut towards zero, held at the limits, NaN gives 0 (as XLA). From complex: the real part.
// Neither side is a 16-bit float: those go by way of float.
template <typename To>
struct Convert {
  template <typename From>
  SHARDLAB_INLINE To operator()(From x) const {
    if constexpr (std::is_same_v<To, From>)
      return x;
    else if constexpr (std::is_same_v<To, bool>)
      return x != From(0);
    else if constexpr (Cplx<From> && Cplx<To>)
      return To(x);
    else if constexpr (Cplx<From>)
      return Convert<To>()(x.real());
    else if constexpr (Cplx<To>)
      return To(typename To::value_type(x));
    else if constexpr (Real<From> && Whole<To>)
      return saturated(double(x));
    else
      return To(x);
  }

 private:
  // The upper limit is one more than the largest integer, a power of two: exact for every width.
  SHARDLAB_INLINE static To saturated(double x) {
    constexpr To kLowest = std::numeric_limits<To>::min(), kHighest = std::numeric_limits<To>::max();
    constexpr double kLow = double(kLowest), kEnd = 2.0 * double(kHighest / 2 + 1);
    if constexpr (sizeof(To) <= 4) {
      double held = x < kLow ? kLow : (x > double(kHighest) ? double(kHighest) : x);
      return x == x ? To(std::int64_t(held)) : To(0);
    } else {
      if (x != x) return 0;
      return x < kLow ? kLowest : (x >= kEnd ? kHighest : To(x));
    }
  }
};

template <typename From, typename To>
TileFn plain_tile() {
  return tile_of_types<Convert<To>, From>();
}

// To or from 16-bit floats, in chunks by way of float.
template <typename From, typename To>
void half_convert(const void* const* operands, const int* strides, void* result, std::int64_t count) {
  constexpr std::int64_t kChunk = 256;
  float wide[kChunk];
  const void* addresses[] = {wide};
  for (std::int64_t start = 0; start < count; start += kChunk) {
    std::int64_t size = std::min(kChunk, count - start);
    const From* from = static_cast<const From*>(operands[0]) + start * strides[0];
    To* to = static_cast<To*>(result) + start;
    if constexpr (Half<From>) {
      widen(from, wide, strides[0] == 0 ? 1 : size);
    } else {
      const void* own[] = {from};
      plain_tile<From, float>()(own, strides, wide, strides[0] == 0 ? 1 : size);
    }
    if constexpr (Half<To>) {
      if (strides[0] == 0) std::fill_n(wide, size, float(wide[0]));
      narrow(wide, to, size);
    } else {
      plain_tile<float, To>()(addresses, strides, to, size);
    }
  }
}

TileFn convert_tile(std::span<const DType> operands, DType result) {
  return visit_dtype(result, [&]<typename To>(To) {
    return visit_dtype(operands[0], [&]<typename From>(From) -> TileFn {
      if constexpr (Half<From> || Half<To>)
        return &half_convert<From, To>;
      else
        return plain_tile<From, To>();
    });
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

Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) {
  return {converted(b, args.cotangents[0], args.operand_types[0].dtype)};
}

std::vector<Sample> samples() {
  std::vector<Sample> samples;
  for (const DTypeInfo& from : all_dtypes())
    for (const DTypeInfo& to : all_dtypes()) samples.push_back({{{from.dtype, {4, 6}}}, Attrs{{"dtype", to.dtype}}});
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
    .weakness = Weakness::kNever,
    .expand = expand,
    .infer = infer,
    .rule = elementwise_rule,
    .kernel = elementwise_kernel<convert_tile>,
    .tile = convert_tile,
    .elementwise = true,
    .jvp = linear_jvp,
    .transpose = transpose_rule,
    .samples = samples};

}  // namespace shardlab::ops
