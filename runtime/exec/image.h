// jax.image and jax.scipy.ndimage in C++: values between an array's elements.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/exec/ops.h"

namespace shardlab {

namespace image {

// `method`: nearest, linear, cubic, lanczos3, lanczos5, cubic-pytorch or area. Where the image shrinks, what lies between is counted, too,
// unless antialias is false. image::resize(x, {32, 32}, "linear").
Array resize(const Operand& x, const Shape& shape, std::string_view method, bool antialias = true);
// Places of the result are (places of the image) * scale + translation, along the spatial dimensions.
Array scale_and_translate(const Operand& x, const Shape& shape, const std::vector<std::int64_t>& spatial_dims, const Operand& scale,
                          const Operand& translation, std::string_view method, bool antialias = true);

}  // namespace image

namespace ndimage {

// The array's values at coordinates, one array for each dimension. `order` 0: of the nearest element, 1: linear. `mode` says what lies
// outside: constant (cval), nearest, wrap, mirror or reflect.
Array map_coordinates(const Operand& x, const Operands& coordinates, int order, std::string_view mode = "constant", double cval = 0);

}  // namespace ndimage

}  // namespace shardlab
