// The convolution of one device's parts, as products of matrices: the kernel [outputs, features x window] times the patches that the window
// sees [features x window, results]. Source: im2col, Chellapilla et al., "High Performance Convolutional Neural Networks for Document
// Processing" (2006).
//
// What the window sees outside the operand's part is zero: padding, or other devices' in a dimension whose partial results are added. As in
// XLA an infinite weight on padding gives NaN.
#include "runtime/ops/conv_kernel.h"

#include <algorithm>

#include "runtime/ops/gemm.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kPatchBytesMax = 512 << 10;  // of patches made at a time: they stay in the second-level cache, where a line fits

// A tensor's part, with its dimensions in the order [batch, feature, spatial…].
struct Part {
  std::vector<Interval> box;
  Shape strides;
  Part(const Box& of, const Shape& shape, const std::vector<std::int64_t>& spec) {
    Shape all = strides_of(shape);
    for (std::int64_t d : spec) {
      box.push_back(of[std::size_t(d)]);
      strides.push_back(all[std::size_t(d)]);
    }
  }
};

// The next index within a box, the last dimension first; false behind the last one.
bool advance(Shape& index, const std::vector<Interval>& box) {
  for (std::size_t d = index.size(); d-- > 0;) {
    if (++index[d] < box[d].stop) return true;
    index[d] = box[d].start;
  }
  return false;
}

Shape first_of(const std::vector<Interval>& box) {
  Shape index;
  for (const Interval& interval : box) index.push_back(interval.start);
  return index;
}

// Results are made line by line: runs along the last spatial dimension (of one element where there is none).
template <typename T>
class Convolution {
 public:
  Convolution(const KernelArgs& args, const ConvDims& dims)
      : lhs_(*args.operands[0].box, args.operands[0].type.shape, dims.lhs),
        rhs_(*args.operands[1].box, args.operands[1].type.shape, dims.rhs),
        out_(*args.results[0].box, args.results[0].type.shape, dims.out),
        x_(args.operands[0].as<T>()),
        w_(args.operands[1].as<T>()),
        result_(args.results[0].as<T>()),
        dtype_(args.results[0].type.dtype),
        spatial_(dims.spatial()) {
    const Shape& kernel = *args.operands[1].array;
    per_group_ = kernel[std::size_t(dims.rhs[0])] / dims.output_groups();
    if (dims.groups > 1) inputs_ = kernel[std::size_t(dims.rhs[1])];
    if (dims.batch_groups > 1) batch_ = (*args.operands[0].array)[std::size_t(dims.lhs[0])] / dims.batch_groups;
    for (std::size_t i = 0; i < spatial_; ++i) windows_.push_back(dims.window(i, kernel));
    taps_box_.assign(rhs_.box.begin() + 2, rhs_.box.end());
    for (const Interval& interval : taps_box_) taps_ *= interval.size();
    lines_box_ = {out_.box[0]};
    if (spatial_ > 0) lines_box_.insert(lines_box_.end(), out_.box.begin() + 2, out_.box.end() - 1);
    line_ = spatial_ > 0 ? out_.box.back() : Interval{0, 1};
  }

  void run() {
    const Interval outputs = out_.box[1];
    if (outputs.size() <= 0 || line_.size() <= 0) return;
    for (const Interval& interval : lines_box_)
      if (interval.size() <= 0) return;
    for (std::int64_t start = outputs.start; start < outputs.stop;) {
      const std::int64_t group = start / per_group_, stop = std::min(outputs.stop, (group + 1) * per_group_);
      run_group(group, {start, stop});
      start = stop;
    }
  }

 private:
  // Some outputs of one group.
  void run_group(std::int64_t group, Interval outputs) {
    first_batch_ = group * batch_;
    features_ = {std::max(group * inputs_ + rhs_.box[1].start, lhs_.box[1].start),
                 std::min(group * inputs_ + rhs_.box[1].stop, lhs_.box[1].stop)};
    const std::int64_t depth = std::max<std::int64_t>(features_.size(), 0) * taps_;
    std::vector<T> weights = weights_of(group, outputs, depth);
    std::int64_t lines_left = 1;
    for (const Interval& interval : lines_box_) lines_left *= interval.size();
    const std::int64_t fit = kPatchBytesMax / std::max<std::int64_t>(std::int64_t(sizeof(T)) * depth * line_.size(), 1);
    Shape first = first_of(lines_box_);
    while (lines_left > 0) {
      const std::int64_t lines = std::clamp<std::int64_t>(fit, 1, lines_left), columns = lines * line_.size();
      T* patches = room(patches_, depth * columns);
      T* product = room(product_, outputs.size() * columns);
      Shape index = first;
      for (std::int64_t l = 0; l < lines; ++l) {
        patch_line(index, patches + l * line_.size(), columns);
        advance(index, lines_box_);
      }
      gemm(dtype_, {outputs.size(), columns, depth}, reinterpret_cast<const std::byte*>(weights.data()),
           reinterpret_cast<const std::byte*>(patches), reinterpret_cast<std::byte*>(product));
      for (std::int64_t l = 0; l < lines; ++l) {
        write_line(first, outputs, product + l * line_.size(), columns);
        advance(first, lines_box_);
      }
      lines_left -= lines;
    }
  }

  // Not set to anything: all of it is written.
  static T* room(Buffer& buffer, std::int64_t elements) {
    if (buffer.size() < std::size_t(elements) * sizeof(T)) buffer = Buffer(std::size_t(elements) * sizeof(T));
    return buffer.as<T>();
  }

  // [outputs, features, taps]
  std::vector<T> weights_of(std::int64_t group, Interval outputs, std::int64_t depth) const {
    std::vector<T> weights;
    weights.reserve(std::size_t(outputs.size() * depth));
    for (std::int64_t o = outputs.start; o < outputs.stop; ++o)
      for (std::int64_t f = features_.start; f < features_.stop; ++f) {
        const T* from = w_ + (o - rhs_.box[0].start) * rhs_.strides[0] + (f - group * inputs_ - rhs_.box[1].start) * rhs_.strides[1];
        Shape tap = first_of(taps_box_);
        for (std::int64_t t = 0; t < taps_; ++t) {
          std::int64_t at = 0;
          for (std::size_t i = 0; i < spatial_; ++i) at += (tap[i] - taps_box_[i].start) * rhs_.strides[i + 2];
          weights.push_back(from[at]);
          advance(tap, taps_box_);
        }
      }
    return weights;
  }

  // One line's columns of the patches, for each feature and tap: `index` is its batch element and its spatial indices but the last.
  void patch_line(const Shape& index, T* to, std::int64_t columns) const {
    for (std::int64_t f = features_.start; f < features_.stop; ++f) {
      const T* from = x_ + (first_batch_ + index[0] - lhs_.box[0].start) * lhs_.strides[0] + (f - lhs_.box[1].start) * lhs_.strides[1];
      Shape tap = first_of(taps_box_);
      for (std::int64_t t = 0; t < taps_; ++t, to += columns) {
        std::int64_t at = 0;
        bool is_here = true;
        for (std::size_t i = 0; i + 1 < spatial_ && is_here; ++i) {
          const std::int64_t element = element_at(i, index[i + 1], tap[i]);
          is_here = element >= 0;
          at += (element - lhs_.box[i + 2].start) * lhs_.strides[i + 2];
        }
        if (!is_here)
          std::fill_n(to, line_.size(), T());
        else if (spatial_ == 0)
          *to = from[0];
        else
          copy_run(from + at, tap.back(), to);
        advance(tap, taps_box_);
      }
    }
  }

  // The operand's index that a tap sees from a result, or -1: none of this part.
  std::int64_t element_at(std::size_t i, std::int64_t result, std::int64_t tap) const {
    const ConvWindow& window = windows_[i];
    const std::int64_t place = window.begin(result) + tap * window.rhs_dilation;
    if (place < 0 || place % window.lhs_dilation != 0) return -1;
    const std::int64_t element = place / window.lhs_dilation;
    return element >= lhs_.box[i + 2].start && element < lhs_.box[i + 2].stop ? element : -1;
  }

  // What a tap sees along a line of results; `from`: the part's first element of the operand's line.
  void copy_run(const T* from, std::int64_t tap, T* to) const {
    const std::size_t i = spatial_ - 1;
    const ConvWindow& window = windows_[i];
    const std::int64_t begin = lhs_.box[i + 2].start, end = lhs_.box[i + 2].stop, stride = lhs_.strides[i + 2];
    if (window.lhs_dilation > 1) {
      for (std::int64_t r = line_.start; r < line_.stop; ++r) {
        const std::int64_t element = element_at(i, r, tap);
        *to++ = element >= 0 ? from[(element - begin) * stride] : T();
      }
      return;
    }
    // Results first … last - 1 see elements of the part.
    const std::int64_t offset = tap * window.rhs_dilation - window.low;
    auto result_at = [&](std::int64_t element) {  // the first result that sees the element or one behind it
      const std::int64_t room = element - offset;
      return std::clamp(room <= 0 ? 0 : (room + window.stride - 1) / window.stride, line_.start, line_.stop);
    };
    const std::int64_t first = result_at(begin), last = std::max(first, result_at(end));
    to = std::fill_n(to, first - line_.start, T());
    const std::int64_t step = window.stride * stride;
    const T* element = from + (first * window.stride + offset - begin) * stride;
    if (step == 1)
      to = std::copy_n(element, last - first, to);
    else
      for (std::int64_t r = first; r < last; ++r, element += step) *to++ = *element;
    std::fill_n(to, line_.stop - last, T());
  }

  void write_line(const Shape& index, Interval outputs, const T* product, std::int64_t columns) {
    T* line = result_ + (index[0] - out_.box[0].start) * out_.strides[0];
    for (std::size_t i = 0; i + 1 < spatial_; ++i) line += (index[i + 1] - out_.box[i + 2].start) * out_.strides[i + 2];
    const std::int64_t stride = spatial_ > 0 ? out_.strides.back() : 1;
    for (std::int64_t o = outputs.start; o < outputs.stop; ++o, product += columns) {
      T* to = line + (o - out_.box[1].start) * out_.strides[1];
      for (std::int64_t r = 0; r < line_.size(); ++r) to[r * stride] = product[r];
    }
  }

  Part lhs_, rhs_, out_;
  const T *x_, *w_;
  T* result_;
  DType dtype_;
  std::size_t spatial_;
  std::int64_t per_group_ = 1, inputs_ = 0, batch_ = 0, taps_ = 1;  // of a group: outputs; features and batch, 0 where all groups see all
  std::vector<ConvWindow> windows_;
  std::vector<Interval> taps_box_;   // what is here of the window
  std::vector<Interval> lines_box_;  // of the result: batch, and the spatial dimensions but the last
  Interval line_;                    // the last one
  Interval features_;                // of the operand, in the group at work
  std::int64_t first_batch_ = 0;     // likewise
  Buffer patches_{0}, product_{0};
};

}  // namespace

void conv_kernel(const KernelArgs& args) {
  ConvDims dims(args.attrs);
  visit_dtype(args.results[0].type.dtype, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_same_v<T, bool>)
      throw InternalError("a convolution of bool");
    else
      Convolution<T>(args, dims).run();
  });
}

}  // namespace shardlab::ops
