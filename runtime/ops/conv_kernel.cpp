// The convolution of one device's parts, as products of matrices: the kernel [outputs, features x window] times the patches that the window
// sees [features x window, results]. Sources: im2col, Chellapilla et al., "High Performance Convolutional Neural Networks for Document
// Processing" (2006), and patches that nobody copies, Dukhan, "The Indirect Convolution Algorithm" (2019).
//
// What the window sees outside the operand's part is zero: padding, or other devices' in a dimension whose partial results are added. As in
// XLA an infinite weight on padding gives NaN. What dilation puts between elements is never multiplied: results that see elements by the
// same taps are computed together. Source of that: Dumoulin and Visin, "A guide to convolution arithmetic for deep learning" (2016).
#include "runtime/ops/conv_kernel.h"

#include <algorithm>
#include <numeric>

#include "runtime/ops/copy_run.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kBlockBytes = 512 << 10;  // of the operand, and of results, that are worked on at a time: in the second-level cache
constexpr std::int64_t kResultsMin = 256;        // but so many results: the weights are read once for each block
constexpr std::int64_t kLineBytes = 64;
// Products over results that nobody wants are worth while up to so many outputs a copied element of the patches.
constexpr std::int64_t kOutputsPerCopy = 10;

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

// All of them; one without dimensions, too.
std::vector<Shape> indices_of(const std::vector<Interval>& box) {
  std::vector<Shape> indices;
  for (const Interval& interval : box)
    if (interval.size() <= 0) return indices;
  Shape index = first_of(box);
  do indices.push_back(index);
  while (advance(index, box));
  return indices;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The batch, or some results along a spatial dimension: every `step`-th, which see elements by the same taps. A tap sees from result r of
// these the place stride * (r + shift) + phase: all results see with it what lies side by side among the places of its phase.
struct Axis {
  struct Tap {
    std::int64_t phase = 0, shift = 0;  // of Axis::phases; from the least shift
  };
  Interval results, operand;  // of these results and of the operand's part
  std::int64_t result_begin = 0, result_stride, operand_stride;
  std::int64_t stride = 1;  // from what a result sees to what the next one does
  std::vector<std::int64_t> phases{0};
  std::vector<Tap> taps{{}};
  std::vector<std::int64_t> seeing{0};   // the taps' places in the window's part
  std::int64_t shift_min = 0, span = 0;  // of the shifts: least, and from least to greatest

  Axis(const Part& lhs, const Part& out, std::size_t dim)
      : results(out.box[dim]), operand(lhs.box[dim]), result_stride(out.strides[dim]), operand_stride(lhs.strides[dim]) {}

  // Of how many kinds the results along a dimension are.
  static std::int64_t step_of(const ConvWindow& window) { return window.lhs_dilation / std::gcd(window.lhs_dilation, window.stride); }

  // The results from the one at `first` on.
  void look_through(const ConvWindow& window, Interval window_part, std::int64_t first) {
    const std::int64_t step = step_of(window), dilation = window.lhs_dilation;
    stride = window.stride / std::gcd(dilation, window.stride);
    const std::int64_t begin = window.begin(results.start + first);
    results = {0, (results.size() - first + step - 1) / step};
    result_begin = first * result_stride;
    result_stride *= step;
    phases.clear();
    taps.clear();
    seeing.clear();
    std::int64_t shift_max = 0;
    for (std::int64_t t = window_part.start; t < window_part.stop; ++t) {
      const std::int64_t dilated = begin + t * window.rhs_dilation, place = floor_divide(dilated, dilation);
      if (place * dilation != dilated) continue;
      const std::int64_t shift = floor_divide(place, stride), phase = place - shift * stride;
      auto found = std::find(phases.begin(), phases.end(), phase);
      taps.push_back({found - phases.begin(), shift});
      seeing.push_back(t - window_part.start);
      if (found == phases.end()) phases.push_back(phase);
      shift_min = taps.size() == 1 ? shift : std::min(shift_min, shift);
      shift_max = taps.size() == 1 ? shift : std::max(shift_max, shift);
    }
    span = shift_max - shift_min;
    for (Tap& tap : taps) tap.shift -= shift_min;
  }

  // Each result sees one element, its neighbour the next one.
  bool is_plain() const { return taps.size() == 1 && stride == 1; }
  // Becomes one axis with the next where both are plain and all of the next lies side by side.
  bool merge(const Axis& next) {
    const std::int64_t size = next.results.size();
    if (!is_plain() || !next.is_plain() || next.operand.size() != size || next.results.start + next.shift_min != next.operand.start ||
        operand_stride != size * next.operand_stride || result_stride != size * next.result_stride)
      return false;
    for (Interval* each : {&results, &operand}) *each = {each->start * size, each->stop * size};
    shift_min *= size;
    operand_stride = next.operand_stride;
    result_begin += next.result_begin;
    result_stride = next.result_stride;
    return true;
  }
};

// Works on blocks of results. The part of the operand that a block sees is copied into a grid [feature, phases, batch, places…], padded;
// each tap sees from all results a copy of the results' box in it, at an offset of its own. As one line from the first result to
// the last such a copy is a row of the patches, with some elements between the lines of results that nobody wants: the product reads it
// where it lies. Where those would be too many the lines are packed without them.
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
        dtype_(args.results[0].type.dtype) {
    const Shape& kernel = *args.operands[1].array;
    per_group_ = kernel[std::size_t(dims.rhs[0])] / dims.output_groups();
    if (dims.groups > 1) inputs_ = kernel[std::size_t(dims.rhs[1])];
    if (dims.batch_groups > 1) batch_ = (*args.operands[0].array)[std::size_t(dims.lhs[0])] / dims.batch_groups;
    for (std::size_t i = 0; i < dims.spatial(); ++i) windows_.push_back(dims.window(i, kernel));
  }

  void run() {
    const Interval outputs = out_.box[1];
    for (std::size_t dim = 0; dim < out_.box.size(); ++dim)
      if (out_.box[dim].size() <= 0) return;
    std::vector<Interval> kinds;  // of results along each spatial dimension
    for (std::size_t i = 0; i < windows_.size(); ++i) kinds.push_back({0, std::min(Axis::step_of(windows_[i]), out_.box[i + 2].size())});
    for (const Shape& first : indices_of(kinds)) {
      make_axes(first);
      for (std::int64_t start = outputs.start; start < outputs.stop;) {
        const std::int64_t group = start / per_group_, stop = std::min(outputs.stop, (group + 1) * per_group_);
        run_group(group, {start, stop});
        start = stop;
      }
    }
  }

 private:
  // Of the results that are as those at `first` along the spatial dimensions.
  void make_axes(const Shape& first) {
    axes_.assign(1, Axis(lhs_, out_, 0));
    weight_places_.assign(1, 0);
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const std::size_t dim = i + 2;
      Axis axis(lhs_, out_, dim);
      axis.look_through(windows_[i], rhs_.box[dim], first[i]);
      std::vector<std::int64_t> places;
      for (std::int64_t place : weight_places_)
        for (std::int64_t tap : axis.seeing) places.push_back(place + tap * rhs_.strides[dim]);
      weight_places_ = std::move(places);
      if (i == 0 || !axes_.back().merge(axis)) axes_.push_back(std::move(axis));
    }
    std::vector<Interval> phases;
    for (const Axis& axis : axes_) phases.push_back({0, std::int64_t(axis.phases.size())});
    planes_ = indices_of(phases);
  }

  // Some outputs of one group.
  void run_group(std::int64_t group, Interval outputs) {
    first_batch_ = group * batch_;
    features_ = {std::max(group * inputs_ + rhs_.box[1].start, lhs_.box[1].start),
                 std::min(group * inputs_ + rhs_.box[1].stop, lhs_.box[1].stop)};
    features_.stop = std::max(features_.start, features_.stop);
    const std::vector<T> weights = weights_of(group, outputs);
    const Shape sizes = block_sizes(outputs.size());
    std::vector<Interval> blocks;
    for (std::size_t i = 0; i < axes_.size(); ++i) blocks.push_back({0, (axes_[i].results.size() + sizes[i] - 1) / sizes[i]});
    Shape index = first_of(blocks);
    do {
      block_.clear();
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        const std::int64_t start = axes_[i].results.start + index[i] * sizes[i];
        block_.push_back({start, std::min(axes_[i].results.stop, start + sizes[i])});
      }
      run_block(outputs, weights);
    } while (advance(index, blocks));
  }

  // As many results along the last axes as fit.
  Shape block_sizes(std::int64_t outputs) const {
    const std::int64_t deepest = std::max<std::int64_t>({1, features_.size() * std::int64_t(planes_.size()), outputs});
    const std::int64_t places_max = kBlockBytes / (std::int64_t(sizeof(T)) * deepest);
    Shape sizes(axes_.size(), 1);
    std::int64_t places = 1, results = 1;
    for (std::size_t i = axes_.size(); i-- > 0;) {
      const Axis& axis = axes_[i];
      sizes[i] = std::clamp<std::int64_t>(std::max(places_max / places - axis.span, kResultsMin / results), 1, axis.results.size());
      if (sizes[i] < axis.results.size()) break;
      places *= sizes[i] + axis.span;
      results *= sizes[i];
    }
    return sizes;
  }

  void run_block(Interval outputs, const std::vector<T>& weights) {
    make_grid();
    place_lines();
    const std::int64_t line = block_.back().size(), results = std::int64_t(lines_.size()) * line, span = lines_.back() + line;
    const bool in_place = (span - results) * outputs.size() <= kOutputsPerCopy * results;
    const std::int64_t columns = in_place ? span : results;
    T* product = room(product_, outputs.size() * columns);
    const GemmSize size{outputs.size(), columns, std::int64_t(offsets_.size())};
    const GemmOperand left{reinterpret_cast<const std::byte*>(weights.data()), size.k};
    if (in_place)
      gemm(dtype_, size, left, GemmRows{reinterpret_cast<const std::byte*>(grid_.as<T>()), offsets_.data()},
           reinterpret_cast<std::byte*>(product));
    else
      gemm(dtype_, size, left, *this, reinterpret_cast<std::byte*>(product));
    for (std::size_t l = 0; l < lines_.size(); ++l)
      write_line(line_indices_[l], outputs, product + (in_place ? lines_[l] : std::int64_t(l) * line), columns);
  }

  // Not set to anything: all of it is written.
  static T* room(Buffer& buffer, std::int64_t elements) {
    if (buffer.size() < std::size_t(elements) * sizeof(T)) buffer = Buffer(std::size_t(elements) * sizeof(T));
    return buffer.as<T>();
  }

  // [outputs, features, taps]
  std::vector<T> weights_of(std::int64_t group, Interval outputs) const {
    std::vector<T> weights;
    weights.reserve(std::size_t(outputs.size() * features_.size()) * weight_places_.size());
    for (std::int64_t o = outputs.start; o < outputs.stop; ++o)
      for (std::int64_t f = features_.start; f < features_.stop; ++f) {
        const T* from = w_ + (o - rhs_.box[0].start) * rhs_.strides[0] + (f - group * inputs_ - rhs_.box[1].start) * rhs_.strides[1];
        for (std::int64_t place : weight_places_) weights.push_back(from[place]);
      }
    return weights;
  }

  // Of the block: the grid, and where each row of the patches begins in it.
  void make_grid() {
    Shape places;
    for (std::size_t i = 0; i < axes_.size(); ++i) places.push_back(block_[i].size() + axes_[i].span);
    grid_strides_ = strides_of(places);
    const std::int64_t plane = element_count(places);
    // Features lie an odd number of cache lines apart: at a power of two all would lie in one set of the cache.
    constexpr std::int64_t kPerLine = std::max<std::int64_t>(1, kLineBytes / std::int64_t(sizeof(T)));
    const std::int64_t feature_stride = ((plane * std::int64_t(planes_.size()) + kPerLine - 1) / kPerLine | 1) * kPerLine;
    T* grid = room(grid_, features_.size() * feature_stride);
    std::vector<Interval> taps;
    for (const Axis& axis : axes_) taps.push_back({0, std::int64_t(axis.taps.size())});
    std::vector<std::int64_t> seen;
    for (const Shape& tap : indices_of(taps)) {
      std::int64_t of_plane = 0, offset = 0;
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        const Axis::Tap& each = axes_[i].taps[std::size_t(tap[i])];
        of_plane = of_plane * std::int64_t(axes_[i].phases.size()) + each.phase;
        offset += each.shift * grid_strides_[i];
      }
      seen.push_back(of_plane * plane + offset);
    }
    offsets_.clear();
    for (std::int64_t f = 0; f < features_.size(); ++f) {
      const T* from = x_ + (features_.start + f - lhs_.box[1].start) * lhs_.strides[1];
      for (std::size_t p = 0; p < planes_.size(); ++p) fill(0, planes_[p], from, grid + f * feature_stride + std::int64_t(p) * plane);
      for (std::int64_t offset : seen) offsets_.push_back(f * feature_stride + offset);
    }
  }

  // The places of the plane of some phases, from an axis on; `from`: where the operand's part begins in what is before the axis.
  void fill(std::size_t i, const Shape& phases, const T* from, T* to) const {
    const Axis& axis = axes_[i];
    const Interval& part = axis.operand;
    const std::int64_t stride = axis.operand_stride, count = block_[i].size() + axis.span;
    const std::int64_t begin =
        axis.stride * (block_[i].start + axis.shift_min) + axis.phases[std::size_t(phases[i])] + (i == 0 ? first_batch_ : 0);
    if (i + 1 == axes_.size()) {
      // The places [first, last) lie in the part.
      auto place_of = [&](std::int64_t element) { return std::clamp<std::int64_t>(-floor_divide(begin - element, axis.stride), 0, count); };
      const std::int64_t first = place_of(part.start), last = std::max(first, place_of(part.stop)), step = axis.stride * stride;
      const T* at = from + (begin + first * axis.stride - part.start) * stride;
      std::fill_n(to, first, T());
      if (step == 1)
        copy_run(at, last - first, to + first);
      else
        for (std::int64_t r = first; r < last; ++r, at += step) to[r] = *at;
      std::fill_n(to + last, count - last, T());
      return;
    }
    for (std::int64_t r = 0; r < count; ++r, to += grid_strides_[i]) {
      const std::int64_t place = begin + r * axis.stride;
      if (place < part.start || place >= part.stop)
        std::fill_n(to, grid_strides_[i], T());
      else
        fill(i + 1, phases, from + (place - part.start) * stride, to);
    }
  }

  // Where the lines of results begin in what a tap sees of the grid.
  void place_lines() {
    lines_.clear();
    line_indices_ = indices_of({block_.begin(), block_.end() - 1});
    for (const Shape& index : line_indices_) {
      std::int64_t at = 0;
      for (std::size_t i = 0; i < index.size(); ++i) at += (index[i] - block_[i].start) * grid_strides_[i];
      lines_.push_back(at);
    }
  }

  // Rows of the patches are features and taps, columns the results of the lines.
  void pack(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, std::byte* out,
            std::int64_t to_stride) const override {
    const T* grid = grid_.as<T>();
    const std::int64_t line = block_.back().size();
    for (std::int64_t done = 0; done < columns;) {
      const std::int64_t begin = (column + done) % line, count = std::min(line - begin, columns - done);
      const T* from = grid + lines_[std::size_t((column + done) / line)] + begin;
      T* to = reinterpret_cast<T*>(out) + done;
      for (std::int64_t i = 0; i < rows; ++i, to += to_stride) copy_run(from + offsets_[std::size_t(row + i)], count, to);
      done += count;
    }
  }

  // `index`: of the axes but the last.
  void write_line(const Shape& index, Interval outputs, const T* product, std::int64_t columns) {
    T* line = result_;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const std::int64_t at = i < index.size() ? index[i] : block_[i].start;
      line += axes_[i].result_begin + (at - axes_[i].results.start) * axes_[i].result_stride;
    }
    const std::int64_t stride = axes_.back().result_stride, count = block_.back().size();
    for (std::int64_t o = outputs.start; o < outputs.stop; ++o, product += columns) {
      T* to = line + (o - out_.box[1].start) * out_.strides[1];
      if (stride == 1)
        copy_run(product, count, to);
      else
        for (std::int64_t r = 0; r < count; ++r) to[r * stride] = product[r];
    }
  }

  Part lhs_, rhs_, out_;
  const T *x_, *w_;
  T* result_;
  DType dtype_;
  std::int64_t per_group_ = 1, inputs_ = 0, batch_ = 0;  // of a group: outputs; features and batch, 0 where all groups see all
  std::vector<ConvWindow> windows_;                      // along the spatial dimensions
  std::vector<Axis> axes_;                               // the batch, then the spatial ones
  std::vector<Shape> planes_;                            // the phases of each
  std::vector<std::int64_t> weight_places_;              // of the taps, in the kernel's part
  Interval features_;                                    // of the operand, in the group at work
  std::int64_t first_batch_ = 0;                         // likewise
  std::vector<Interval> block_;                          // of results, at work
  Shape grid_strides_;                                   // of the axes
  std::vector<std::int64_t> offsets_, lines_;            // of rows of the patches, of lines of results
  std::vector<Shape> line_indices_;                      // of the axes but the last
  Buffer grid_{0}, product_{0};
};

}  // namespace

void conv_kernel(const KernelArgs& args) {
  ConvDims dims(args.attrs);
  visit_dtype(args.results[0].type.dtype, [&](auto sample) {
    using T = decltype(sample);
    // What lies in memory is copied; products alone look at the dtype.
    Convolution<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>(args, dims).run();
  });
}

}  // namespace shardlab::ops
