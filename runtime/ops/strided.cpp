#include "runtime/ops/strided.h"

#include <algorithm>
#include <cstring>

namespace shardlab::ops {
namespace {

struct Dim {
  std::int64_t size, stride;
};

// Without dimensions of size 1, neighbours that step evenly joined.
std::vector<Dim> merged_dims(const Shape& shape, const Shape& strides) {
  std::vector<Dim> dims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!dims.empty() && dims.back().stride == strides[d] * shape[d])
      dims.back() = {dims.back().size * shape[d], strides[d]};
    else
      dims.push_back({shape[d], strides[d]});
  }
  return dims;
}

template <typename T>
void copy_run(const T* in, std::int64_t stride, T* out, std::int64_t count) {
  if (stride == 1)
    std::memcpy(out, in, std::size_t(count) * sizeof(T));
  else if (stride == 0)
    std::fill_n(out, count, *in);
  else
    for (std::int64_t i = 0; i < count; ++i) out[i] = in[i * stride];
}

// Two dimensions in square blocks, so that strided reads find their cache lines again.
template <typename T>
void copy_plane(const T* in, Dim rows, Dim columns, T* out) {
  constexpr std::int64_t kBlock = 16;
  if (columns.stride <= 1) {
    for (std::int64_t r = 0; r < rows.size; ++r) copy_run(in + r * rows.stride, columns.stride, out + r * columns.size, columns.size);
    return;
  }
  for (std::int64_t r0 = 0; r0 < rows.size; r0 += kBlock)
    for (std::int64_t c0 = 0; c0 < columns.size; c0 += kBlock)
      for (std::int64_t r = r0; r < std::min(r0 + kBlock, rows.size); ++r)
        for (std::int64_t c = c0; c < std::min(c0 + kBlock, columns.size); ++c)
          out[r * columns.size + c] = in[r * rows.stride + c * columns.stride];
}

template <typename T>
void copy_dims(const std::vector<Dim>& dims, std::size_t from, const T* in, T* out) {
  std::size_t left = dims.size() - from;
  if (left == 0) {
    *out = *in;
  } else if (left == 1) {
    copy_run(in, dims[from].stride, out, dims[from].size);
  } else if (left == 2) {
    copy_plane(in, dims[from], dims[from + 1], out);
  } else {
    std::int64_t step = 1;
    for (std::size_t d = from + 1; d < dims.size(); ++d) step *= dims[d].size;
    for (std::int64_t i = 0; i < dims[from].size; ++i) copy_dims(dims, from + 1, in + i * dims[from].stride, out + i * step);
  }
}

}  // namespace

void strided_copy(const Shape& shape, const Shape& strides, const std::byte* in, std::byte* out, std::int64_t element_bytes) {
  if (element_count(shape) == 0) return;
  std::vector<Dim> dims = merged_dims(shape, strides);
  auto copy_as = [&](auto sample) {
    using T = decltype(sample);
    copy_dims(dims, 0, reinterpret_cast<const T*>(in), reinterpret_cast<T*>(out));
  };
  switch (element_bytes) {
    case 1:
      return copy_as(std::uint8_t{});
    case 2:
      return copy_as(std::uint16_t{});
    case 4:
      return copy_as(std::uint32_t{});
    case 8:
      return copy_as(std::uint64_t{});
    case 16:
      return copy_as(std::complex<double>{});
    default:
      throw InternalError("strided_copy: elements of 1, 2, 4, 8 or 16 bytes");
  }
}

}  // namespace shardlab::ops
