#include "runtime/ops/strided.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "runtime/ops/transpose_block.h"

namespace shardlab::ops {
namespace {

// Strides in elements; the last dimension of `out` has stride 1.
struct Dim {
  std::int64_t size, in, out;
};

// Without dimensions of size 1, neighbours that step evenly joined. Where the operand's neighbours are not the result's, the dimension
// along which they are comes last but one.
std::vector<Dim> planned_dims(const Shape& shape, const Shape& strides) {
  std::vector<Dim> dims;
  std::int64_t out = element_count(shape);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    out /= shape[d];
    if (shape[d] == 1) continue;
    if (!dims.empty() && dims.back().in == strides[d] * shape[d])
      dims.back() = {dims.back().size * shape[d], strides[d], out};
    else
      dims.push_back({shape[d], strides[d], out});
  }
  if (dims.size() > 2 && dims.back().in > 1) {
    auto near = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.in == 1; });
    if (near != dims.end()) std::rotate(near, near + 1, dims.end() - 1);
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

// Two dimensions; in square blocks where neither steps by one, so that strided reads find their cache lines again.
template <typename T>
void copy_plane(const T* in, const Dim& rows, const Dim& columns, T* out) {
  constexpr std::int64_t kBlock = 16;
  if (columns.in <= 1) {
    for (std::int64_t r = 0; r < rows.size; ++r) copy_run(in + r * rows.in, columns.in, out + r * rows.out, columns.size);
    return;
  }
  if (rows.in == 1) {
    transpose_block(reinterpret_cast<const std::byte*>(in), columns.in, reinterpret_cast<std::byte*>(out), rows.out, columns.size,
                    rows.size, sizeof(T));
    return;
  }
  for (std::int64_t r0 = 0; r0 < rows.size; r0 += kBlock)
    for (std::int64_t c0 = 0; c0 < columns.size; c0 += kBlock)
      for (std::int64_t r = r0; r < std::min(r0 + kBlock, rows.size); ++r)
        for (std::int64_t c = c0; c < std::min(c0 + kBlock, columns.size); ++c) out[r * rows.out + c] = in[r * rows.in + c * columns.in];
}

template <typename T>
void copy_dims(const std::vector<Dim>& dims, std::size_t from, const T* in, T* out) {
  std::size_t left = dims.size() - from;
  if (left == 0) {
    *out = *in;
  } else if (left == 1) {
    copy_run(in, dims[from].in, out, dims[from].size);
  } else if (left == 2) {
    copy_plane(in, dims[from], dims[from + 1], out);
  } else {
    for (std::int64_t i = 0; i < dims[from].size; ++i) copy_dims(dims, from + 1, in + i * dims[from].in, out + i * dims[from].out);
  }
}

}  // namespace

void strided_copy(const Shape& shape, const Shape& strides, const std::byte* in, std::byte* out, std::int64_t element_bytes) {
  if (element_count(shape) == 0) return;
  std::vector<Dim> dims = planned_dims(shape, strides);
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
