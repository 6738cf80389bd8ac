// The convolution of one device's parts, as products of matrices: the kernel [outputs, features x window] times the patches that the window
// sees [features x window, results], which are made as the product uses them. Source: im2col, Chellapilla et al., "High Performance
// Convolutional Neural Networks for Document Processing" (2006).
//
// What the window sees outside the operand's part is zero: padding, or other devices' in a dimension whose partial results are added. As in
// XLA an infinite weight on padding gives NaN.
#include "runtime/ops/conv_kernel.h"

#include <algorithm>

#include "runtime/ops/copy_run.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kProductBytesMax = 128 << 10;  // of results made at a time: they stay in the second-level cache, where a line fits

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
class Convolution : GemmPanels {
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
    for (std::int64_t tap = spatial_ > 0 ? taps_box_.back().start : 0; spatial_ > 0 && tap < taps_box_.back().stop; ++tap)
      runs_.push_back(run_of(tap));
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
    const std::int64_t fit = kProductBytesMax / (std::int64_t(sizeof(T)) * outputs.size() * line_.size());
    Shape first = first_of(lines_box_);
    while (lines_left > 0) {
      const std::int64_t lines = std::clamp<std::int64_t>(fit, 1, lines_left), columns = lines * line_.size();
      T* product = room(product_, outputs.size() * columns);
      lines_.clear();
      Shape index = first;
      for (std::int64_t l = 0; l < lines; ++l) {
        lines_.push_back(line_at(index));
        advance(index, lines_box_);
      }
      gemm(dtype_, {outputs.size(), columns, depth}, {reinterpret_cast<const std::byte*>(weights.data()), depth}, *this,
           reinterpret_cast<std::byte*>(product));
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

  // What a line of results sees: the operand's first element of its batch, and for each tap the place of the line there, or -1 for none.
  struct Line {
    const T* batch = nullptr;
    std::vector<std::int64_t> seen;
  };
  // `index`: of the batch, and the spatial ones but the last.
  Line line_at(const Shape& index) const {
    Line line{x_ + (first_batch_ + index[0] - lhs_.box[0].start) * lhs_.strides[0], {}};
    Shape tap = first_of(taps_box_);
    for (std::int64_t t = 0; t < taps_; ++t) {
      std::int64_t at = 0;
      for (std::size_t i = 0; i + 1 < spatial_ && at >= 0; ++i) {
        const std::int64_t element = element_at(i, index[i + 1], tap[i]);
        at = element < 0 ? -1 : at + (element - lhs_.box[i + 2].start) * lhs_.strides[i + 2];
      }
      line.seen.push_back(at);
      advance(tap, taps_box_);
    }
    return line;
  }

  // Rows of the patches are features and taps, columns the results of lines_.
  void pack(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, std::byte* out,
            std::int64_t to_stride) const override {
    T* const to = reinterpret_cast<T*>(out);
    for (std::int64_t done = 0; done < columns;) {
      const Line& line = lines_[std::size_t((column + done) / line_.size())];
      const std::int64_t begin = (column + done) % line_.size(), end = std::min(line_.size(), begin + columns - done);
      std::int64_t t = row % taps_;
      const T* feature = line.batch + (features_.start + row / taps_ - lhs_.box[1].start) * lhs_.strides[1];
      T* at = to + done;
      for (std::int64_t i = 0; i < rows; ++i, at += to_stride) {
        const std::int64_t seen = line.seen[std::size_t(t)];
        if (seen < 0)
          std::fill_n(at, end - begin, T());
        else if (spatial_ == 0)
          *at = *feature;
        else
          see_run(feature + seen, runs_[std::size_t(t) % runs_.size()], begin, end, at);
        if (++t == taps_) {
          t = 0;
          feature += lhs_.strides[1];
        }
      }
      done += end - begin;
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

  // Which results of a line, from its first on, see elements of the part with one of the last dimension's taps, and the element that the
  // first of them sees.
  struct Run {
    std::int64_t tap = 0, first = 0, last = 0, element = 0;
  };
  Run run_of(std::int64_t tap) const {
    const std::size_t i = spatial_ - 1;
    const ConvWindow& window = windows_[i];
    const std::int64_t begin = lhs_.box[i + 2].start, end = lhs_.box[i + 2].stop;
    const std::int64_t offset = tap * window.rhs_dilation - window.low;
    auto result_at = [&](std::int64_t element) {  // the first result that sees the element or one behind it
      const std::int64_t room = element - offset;
      return std::clamp(room <= 0 ? 0 : (room + window.stride - 1) / window.stride, line_.start, line_.stop);
    };
    const std::int64_t first = result_at(begin), last = std::max(first, result_at(end));
    return {tap, first - line_.start, last - line_.start, first * window.stride + offset - begin};
  }

  // What a tap sees from results [begin, end) of a line; `from`: the part's first element of the operand's line.
  void see_run(const T* from, const Run& run, std::int64_t begin, std::int64_t end, T* to) const {
    const std::size_t i = spatial_ - 1;
    const std::int64_t stride = lhs_.strides[i + 2];
    if (windows_[i].lhs_dilation > 1) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t element = element_at(i, line_.start + r, run.tap);
        *to++ = element >= 0 ? from[(element - lhs_.box[i + 2].start) * stride] : T();
      }
      return;
    }
    const std::int64_t first = std::clamp(run.first, begin, end), last = std::clamp(run.last, first, end);
    for (std::int64_t r = begin; r < first; ++r) *to++ = T();
    const std::int64_t step = windows_[i].stride * stride, count = last - first;
    const T* element = from + (run.element + (first - run.first) * windows_[i].stride) * stride;
    if (step == 1)
      copy_run(element, count, to);
    else
      for (std::int64_t r = 0; r < count; ++r) to[r] = element[r * step];
    to += count;
    for (std::int64_t r = last; r < end; ++r) *to++ = T();
  }

  void write_line(const Shape& index, Interval outputs, const T* product, std::int64_t columns) {
    T* line = result_ + (index[0] - out_.box[0].start) * out_.strides[0];
    for (std::size_t i = 0; i + 1 < spatial_; ++i) line += (index[i + 1] - out_.box[i + 2].start) * out_.strides[i + 2];
    const std::int64_t stride = spatial_ > 0 ? out_.strides.back() : 1;
    for (std::int64_t o = outputs.start; o < outputs.stop; ++o, product += columns) {
      T* to = line + (o - out_.box[1].start) * out_.strides[1];
      if (stride == 1)
        copy_run(product, line_.size(), to);
      else
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
  std::vector<Run> runs_;            // of the last dimension's taps
  Interval features_;                // of the operand, in the group at work
  std::int64_t first_batch_ = 0;     // likewise
  std::vector<Line> lines_;          // that are being made
  Buffer product_{0};
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
