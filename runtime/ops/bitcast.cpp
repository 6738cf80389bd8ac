// bitcast: the same bits as another dtype of the same width.
#include "runtime/ops/derive.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/random.h"

namespace shardlab::ops {
namespace {

struct Same {
  template <typename T>
  SHARDLAB_INLINE T operator()(T x) const {
    return x;
  }
};

TileFn tile(std::span<const DType>, DType result) {
  switch (size_of(result)) {
    case 1:
      return tile_of_types<Same, std::uint8_t>();
    case 2:
      return tile_of_types<Same, std::uint16_t>();
    case 4:
      return tile_of_types<Same, std::uint32_t>();
    case 8:
      return tile_of_types<Same, std::uint64_t>();
    default:
      return tile_of_types<Same, Complex128>();
  }
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  if (!attrs.has("dtype")) throw_user_error("{}: attribute 'dtype' is missing; name the wanted dtype", op.name);
  DType to = attrs.dtype("dtype"), from = types[0].dtype;
  if (size_of(from) != size_of(to) || (from == DType::kBool) != (to == DType::kBool) || is_complex(from) != is_complex(to))
    throw_user_error("{}: cannot take the bits of {} as {}; both must be numbers of the same width", op.name, name_of(from), name_of(to));
  return {{to, types[0].shape}};
}

std::vector<Sample> samples() {
  std::vector<Sample> samples;
  auto add = [&](DType from, DType to) { samples.push_back({{{from, {4, 6}}}, Attrs{{"dtype", to}}}); };
  add(DType::kFloat32, DType::kUint32);
  add(DType::kInt32, DType::kUint32);
  add(DType::kBfloat16, DType::kUint16);
  add(DType::kFloat64, DType::kUint64);
  add(DType::kInt8, DType::kUint8);
  return samples;
}

constexpr AttrDef kAttrs[] = {{"dtype", AttrDef::Kind::kDType, true, "the dtype of the result"}};
constexpr std::string_view kAliases[] = {"bitcast_convert_type"};

}  // namespace

const OpDef kBitcast = {.name = "bitcast",
                        .doc = "The same bits as another dtype of the same width.",
                        .aliases = kAliases,
                        .attrs = kAttrs,
                        .weakness = Weakness::kNever,
                        .expand = expand_plain,
                        .infer = infer,
                        .rule = elementwise_rule,
                        .kernel = elementwise_kernel<tile>,
                        .tile = tile,
                        .elementwise = true,
                        .copies = true,
                        .jvp = zero_jvp,
                        .samples = samples};

}  // namespace shardlab::ops
