#include "runtime/exec/image.h"

#include "runtime/exec/op_call.h"

namespace shardlab {

using detail::one;

namespace image {

Array resize(const Operand& x, const Shape& shape, std::string_view method, bool antialias) {
  return one("image.resize", {x}, {{"shape", shape}, {"method", std::string(method)}, {"antialias", antialias}});
}
Array scale_and_translate(const Operand& x, const Shape& shape, const std::vector<std::int64_t>& spatial_dims, const Operand& scale,
                          const Operand& translation, std::string_view method, bool antialias) {
  return one("image.scale_and_translate", {x, scale, translation},
             {{"shape", shape}, {"spatial_dims", spatial_dims}, {"method", std::string(method)}, {"antialias", antialias}});
}

}  // namespace image

namespace ndimage {

Array map_coordinates(const Operand& x, const Operands& coordinates, int order, std::string_view mode, double cval) {
  std::vector<Operand> operands{x};
  for (const Operand& each : coordinates.operands()) operands.push_back(each);
  return one("ndimage.map_coordinates", operands, {{"order", std::int64_t(order)}, {"mode", std::string(mode)}, {"cval", cval}});
}

}  // namespace ndimage

}  // namespace shardlab
