#include "runtime/exec/aliases.h"

namespace shardlab {

// Source of the text: JAX's broadcast_shapes.
Shape broadcast_shapes(const std::vector<Shape>& shapes, std::source_location where) {
  Shape result;
  for (const Shape& shape : shapes) {
    if (shape.size() > result.size()) result.insert(result.begin(), shape.size() - result.size(), 1);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& size = result[result.size() - shape.size() + i];
      if (size == 1) size = shape[i];
      if (shape[i] == size || shape[i] == 1) continue;
      std::string all;
      for (const Shape& each : shapes) all += (all.empty() ? "" : ", ") + text_of(each);
      throw_user_error("Incompatible shapes for broadcasting: shapes=[{}] [{}]", all, Where::from(where).text());
    }
  }
  return result;
}

}  // namespace shardlab
