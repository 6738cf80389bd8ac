#include "runtime/exec/spectra.h"

#include <algorithm>
#include <cmath>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/lax.h"
#include "runtime/exec/linalg.h"

namespace shardlab::signals {
namespace {

Array inexact(const Operand& x) {
  Array array = x.is_array() ? x.array() : full({}, x);
  return is_floating(array.dtype()) || is_complex(array.dtype()) ? array : Array(array + 0.0);
}
DType real_of(DType dtype) { return dtype == DType::kComplex64 ? DType::kFloat32 : dtype == DType::kComplex128 ? DType::kFloat64 : dtype; }
DType complex_of(DType dtype) { return dtype == DType::kFloat64 || dtype == DType::kComplex128 ? DType::kComplex128 : DType::kComplex64; }
std::int64_t place_of(std::int64_t axis, int rank, Where where) {
  if (axis < -rank || axis >= rank) throw_user_error("axis {} is out of bounds for array of dimension {} [{}]", axis, rank, where.text());
  return axis < 0 ? axis + rank : axis;
}
Array with_zeros_after(const Array& x, std::int64_t count) {
  if (count == 0) return x;
  std::vector<std::pair<std::int64_t, std::int64_t>> width(std::size_t(x.ndim()), {0, 0});
  width.back().second = count;
  return pad(x, width);
}

// Which of two signals is the smaller one.
bool is_within(const Shape& a, const Shape& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] > b[i]) return false;
  return true;
}

// Source: JAX's _convolve_nd.
Array convolved(const Array& x, const Array& y, std::string_view mode, Where where) {
  if (mode != "full" && mode != "same" && mode != "valid")
    throw_user_error("mode must be one of ['full', 'same', 'valid'], got {} [{}]", mode, where.text());
  if (x.ndim() != 2 || y.ndim() != 2) throw_user_error("convolve2d() only supports 2-dimensional inputs. [{}]", where.text());
  if (x.size() == 0 || y.size() == 0)
    throw_user_error("zero-size arrays not supported in convolutions, got shapes {} and {}. [{}]", text_of(x.shape()), text_of(y.shape()),
                     where.text());
  const bool swaps = is_within(x.shape(), y.shape());
  if (!swaps && !is_within(y.shape(), x.shape()))
    throw_user_error("One input must be smaller than the other in every dimension. [{}]", where.text());
  const Array &large = swaps ? y : x, &small = swaps ? x : y;
  std::vector<std::pair<std::int64_t, std::int64_t>> padding;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t size = small.shape()[d], given = y.shape()[d];
    if (mode == "valid")
      padding.push_back({0, 0});
    else if (mode == "same")
      padding.push_back({size - 1 - (given - 1) / 2, size - given + (given - 1) / 2});
    else
      padding.push_back({size - 1, size - 1});
  }
  return conv_general_dilated(large[{newaxis, newaxis}], flip(small)[{newaxis, newaxis}], {1, 1}, padding)[{0, 0}];
}

Array detrended(const Array& x, const std::string& type, Where where) {
  if (type.empty()) return x;
  return detrend(Operand(x, where), {.type = type});
}

struct Segments {
  Array window;
  std::int64_t length = 0, overlap = 0, nfft = 0;
  std::string detrend;
  bool is_onesided = true;
};

// The Fourier transforms of the windows' segments: [..., segments, frequencies].
Array transformed(const Array& x, const Segments& s, Where where) {
  const std::int64_t size = x.shape().back(), step = s.length - s.overlap;
  const std::int64_t count = std::max<std::int64_t>((size - s.length) / step + 1, 0);
  const Array places = expand_dims(arange(count) * step, 1) + arange(s.length);
  const Array parts = detrended(take(x, places, -1, "clip"), s.detrend, where) * s.window;
  return s.is_onesided ? fft::rfft(real(parts), {.n = s.nfft}) : fft::fft(parts, {.n = s.nfft});
}

// Source: scipy.signal's boundaries.
Array extended(const Array& x, std::int64_t n, const std::string& boundary, Where where) {
  if (boundary.empty() || n < 1) return x;
  std::vector<std::pair<std::int64_t, std::int64_t>> width(std::size_t(x.ndim()), {0, 0});
  width.back() = {n, n};
  if (boundary == "zeros") return pad(x, width);
  if (boundary == "constant") return pad(x, width, "edge");
  if (boundary == "even") return pad(x, width, "reflect");
  if (boundary != "odd")
    throw_user_error("Unknown boundary option '{}', must be one of: ['even', 'odd', 'constant', 'zeros', None] [{}]", boundary,
                     where.text());
  const std::int64_t size = x.shape().back(), last = x.ndim() - 1;
  if (n > size - 1)
    throw_user_error("The extension length n ({}) is too big. It must not exceed x.shape[axis]-1, which is {}. [{}]", n, size - 1,
                     where.text());
  const Array before = 2 * slice_in_dim(x, 0, 1, last) - flip(slice_in_dim(x, 1, n + 1, last), last);
  const Array after = 2 * slice_in_dim(x, size - 1, size, last) - flip(slice_in_dim(x, size - 1 - n, size - 1, last), last);
  return concatenate({before, x, after}, last);
}

struct Spectrum {
  Array frequencies, times, values;  // [..., segments, frequencies], the axis not yet put back
};
struct SpectrumRequest {
  const SpectrumOptions& options;
  std::string boundary = "";
  bool padded = false, is_stft = false;
};

Spectrum spectrum(Array x, std::optional<Array> y, const SpectrumRequest& asked, Where where) {
  const SpectrumOptions& o = asked.options;
  const std::int64_t axis = place_of(o.axis, x.ndim(), where);
  x = moveaxis(x, axis, -1);
  if (y) y = moveaxis(*y, place_of(o.axis, y->ndim(), where), -1);
  if (y && x.shape().back() != y->shape().back()) {
    const std::int64_t size = std::max(x.shape().back(), y->shape().back());
    x = with_zeros_after(x, size - x.shape().back());
    y = with_zeros_after(*y, size - y->shape().back());
  }
  Segments s;
  const std::int64_t size = x.shape().back();
  if (o.nperseg && *o.nperseg < 1) throw_user_error("nperseg must be a positive integer [{}]", where.text());
  s.length = o.nperseg ? *o.nperseg : o.window.has_values() ? o.window.size() : size;
  if (o.window.has_values() && size < s.length) throw_user_error("window is longer than input signal [{}]", where.text());
  s.length = std::min(s.length, size);
  s.overlap = o.noverlap.value_or(s.length / 2);
  s.nfft = o.nfft.value_or(s.length);
  if (s.nfft < s.length) throw_user_error("nfft must be greater than or equal to nperseg. [{}]", where.text());
  if (s.overlap >= s.length) throw_user_error("noverlap must be less than nperseg. [{}]", where.text());
  s.detrend = o.detrend;
  s.is_onesided = o.return_onesided && !is_complex(x.dtype()) && !(y && is_complex(y->dtype()));
  s.window = o.window.values(s.length, x.dtype(), where);
  for (Array* each : {&x, y ? &*y : nullptr}) {
    if (each == nullptr) continue;
    *each = extended(*each, s.length / 2, asked.boundary, where);
    if (!asked.padded) continue;
    const std::int64_t step = s.length - s.overlap, rest = ((s.length - each->shape().back()) % step + step) % step;
    *each = with_zeros_after(*each, rest % s.length);
  }
  if (o.scaling != "density" && o.scaling != "spectrum") throw_user_error("Unknown scaling: {} [{}]", o.scaling, where.text());
  Array scale = o.scaling == "density" ? 1.0 / (o.fs * sum(square(s.window))) : 1.0 / square(sum(s.window));
  if (asked.is_stft) scale = sqrt(scale);
  Array values = transformed(x, s, where);
  if (!asked.is_stft) values = conj(values) * (y ? transformed(*y, s, where) : values);
  values = values * scale;
  if (s.is_onesided && !asked.is_stft) {
    std::vector<float> doubled(std::size_t(s.nfft / 2 + 1), 2);
    doubled.front() = 1;
    if (s.nfft % 2 == 0) doubled.back() = 1;
    values = values * array(doubled);
  }
  values = values.astype(complex_of(x.dtype()));
  if (!y && !asked.is_stft) values = real(values);
  const double half = double(s.length) / 2, step = double(s.length - s.overlap), end = double(x.shape().back()) - half + 1;
  Array times = arange(half, end, step, real_of(x.dtype())) / o.fs;
  if (!asked.boundary.empty()) times = times - half / o.fs;
  return {s.is_onesided ? fft::rfftfreq(s.nfft, 1 / o.fs) : fft::fftfreq(s.nfft, 1 / o.fs), times, moveaxis(values, -1, axis)};
}

std::pair<Array, Array> averaged(const Spectrum& found, const SpectrumOptions& options, Where where) {
  Array values = found.values;
  if (values.ndim() < 2 || values.size() == 0) return {found.frequencies, values};
  const std::int64_t count = values.shape().back();
  if (options.average == "mean" || count <= 1) return {found.frequencies, mean(values, -1)};
  if (options.average != "median") throw_user_error("average must be \"median\" or \"mean\", got {} [{}]", options.average, where.text());
  double bias = 1;
  for (double i = 2; i < double(count); i += 2) bias += 1 / (i + 1) - 1 / i;
  const Array middle =
      is_complex(values.dtype()) ? median(real(values), -1) + median(imag(values), -1) * std::complex<double>(0, 1) : median(values, -1);
  return {found.frequencies, middle / bias};
}

// 1 where there is nothing to divide by.
Array where_above(const Array& norm) { return where(norm > 1e-10, norm, 1.0); }

// Segments [..., frames, length] shifted by `step` each, and summed.
Array overlapped(const Array& x, std::int64_t step) {
  const std::int64_t frames = x.shape()[std::size_t(x.ndim() - 2)], length = x.shape().back(), size = step * (frames - 1) + length;
  Shape shape(x.shape().begin(), x.shape().end() - 2);
  shape.push_back(size);
  const Array places = ravel(expand_dims(arange(frames) * step, 1) + arange(length));
  Shape flat(x.shape().begin(), x.shape().end() - 2);
  flat.push_back(frames * length);
  return zeros(shape, x.dtype()).at({ellipsis, places}).add(reshape(x, flat));
}

}  // namespace

Array Window::values(std::int64_t length, DType dtype, Where where) const {
  if (has_values()) {
    if (values_.ndim() != 1) throw_user_error("window must be 1-D [{}]", where.text());
    if (values_.size() != length)
      throw_user_error("value specified for nperseg is different from length of window: {} and {} [{}]", length, values_.size(),
                       where.text());
    return values_.astype(dtype);
  }
  // Source: SciPy's periodic windows, sums of cosines but for the triangle.
  std::vector<double> terms;
  if (name_ == "hann")
    terms = {0.5, 0.5};
  else if (name_ == "hamming")
    terms = {0.54, 0.46};
  else if (name_ == "blackman")
    terms = {0.42, 0.5, 0.08};
  else if (name_ == "boxcar")
    terms = {1};
  else if (name_ != "bartlett")
    throw_user_error("window '{}' is not known: hann, hamming, blackman, bartlett and boxcar are, or give its values [{}]", name_,
                     where.text());
  std::vector<double> found;
  for (std::int64_t i = 0; i < length; ++i) {
    const double turn = 2 * M_PI * double(i) / double(length);
    double value = name_ == "bartlett" ? 1 - std::abs(2 * double(i) / double(length) - 1) : 0;
    for (std::size_t k = 0; k < terms.size(); ++k) value += (k % 2 == 0 ? 1 : -1) * terms[k] * std::cos(double(k) * turn);
    found.push_back(length == 1 ? 1 : value);
  }
  if (real_of(dtype) == DType::kFloat64) return array(found).astype(dtype);
  return array(std::vector<float>(found.begin(), found.end())).astype(dtype);
}

Array convolve2d(const Operand& x, const Operand& y, std::string_view mode) { return convolved(inexact(x), inexact(y), mode, x.where()); }

Array correlate2d(const Operand& x, const Operand& y, std::string_view mode) {
  const Array a = inexact(x), b = inexact(y);
  if (a.ndim() != 2 || b.ndim() != 2) throw_user_error("correlate2d() only supports 2-dimensional inputs. [{}]", x.where().text());
  const bool swaps = is_within(a.shape(), b.shape()), is_alike = a.shape() == b.shape();
  if (mode != "same" && swaps && !(mode == "valid" && is_alike)) {
    const Array result = convolved(flip(b), conj(a), mode, x.where());
    return mode == "valid" ? result : conj(result);
  }
  return flip(convolved(flip(a), conj(b), mode, x.where()));
}

Array detrend(const Operand& given, const DetrendOptions& options) {
  const Array x = inexact(given);
  if (options.type != "constant" && options.type != "linear")
    throw_user_error("Trend type must be 'linear' or 'constant'. Got '{}' [{}]", options.type, given.where().text());
  const std::int64_t axis = place_of(options.axis, x.ndim(), given.where());
  if (options.type == "constant") return x - mean(x, {.axis = axis, .keepdims = true});
  const std::int64_t size = x.shape()[std::size_t(axis)];
  std::vector<std::int64_t> places = options.bp;
  places.push_back(0);
  places.push_back(size);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (places.front() < 0 || places.back() > size)
    throw_user_error("Breakpoints must be non-negative and less than length of data along given axis. [{}]", given.where().text());
  const Array moved = moveaxis(x, axis, -1);
  std::vector<Array> parts;
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    // The line of least squares has the mean as its value in the middle; its slope is the moment over the squares' sum.
    const std::int64_t n = places[i + 1] - places[i];
    const Array part = slice_in_dim(moved, places[i], places[i + 1], moved.ndim() - 1),
                t = arange(double(n), real_of(x.dtype())) - double(n - 1) / 2;
    const double squares = std::max(double(n) * (double(n) * double(n) - 1) / 12, 1.0);
    const Array center = mean(part, {.axis = -1, .keepdims = true}), slope = sum(part * t, {.axis = -1, .keepdims = true}) / squares;
    parts.push_back(part - center - slope * t);
  }
  return moveaxis(parts.size() == 1 ? parts[0] : concatenate(parts, moved.ndim() - 1), -1, axis);
}

Stft stft(const Operand& x, const StftOptions& o) {
  const SpectrumOptions options{.fs = o.fs,
                                .window = o.window,
                                .nperseg = o.window.has_values() ? o.window.size() : o.nperseg,
                                .noverlap = o.noverlap,
                                .nfft = o.nfft,
                                .detrend = o.detrend,
                                .return_onesided = o.return_onesided,
                                .scaling = "spectrum",
                                .axis = o.axis};
  const Spectrum found = spectrum(inexact(x), {}, {options, o.boundary, o.padded, true}, x.where());
  return {found.frequencies, found.times, found.values};
}

std::pair<Array, Array> welch(const Operand& x, const SpectrumOptions& options) {
  return averaged(spectrum(inexact(x), {}, {options}, x.where()), options, x.where());
}

std::pair<Array, Array> csd(const Operand& x, const Operand& y, const SpectrumOptions& options) {
  return averaged(spectrum(inexact(x), inexact(y), {options}, x.where()), options, x.where());
}

std::pair<Array, Array> istft(const Operand& given, const IstftOptions& o) {
  Array z = inexact(given);
  const Where where = given.where();
  if (z.ndim() < 2) throw_user_error("Input stft must be at least 2d! [{}]", where.text());
  const std::int64_t freq = place_of(o.freq_axis, z.ndim(), where), time = place_of(o.time_axis, z.ndim(), where);
  if (freq == time) throw_user_error("Must specify differing time and frequency axes! [{}]", where.text());
  const std::int64_t frequencies = z.shape()[std::size_t(freq)], natural = o.input_onesided ? 2 * (frequencies - 1) : frequencies;
  const std::int64_t length = o.nperseg.value_or(natural);
  if (length < 1) throw_user_error("nperseg must be a positive integer [{}]", where.text());
  const std::int64_t nfft = o.nfft.value_or(natural + (o.input_onesided && length == natural + 1 ? 1 : 0));
  if (nfft < length) throw_user_error("FFT length ({}) must be longer than nperseg ({}). [{}]", nfft, length, where.text());
  const std::int64_t overlap = o.noverlap.value_or(length / 2), step = length - overlap;
  if (step <= 0) throw_user_error("noverlap must be less than nperseg. [{}]", where.text());
  z = moveaxis(z.astype(complex_of(z.dtype())), AxisList({freq, time}), AxisList({-1, -2}));  // [..., frames, frequencies]
  Array parts = o.input_onesided ? fft::irfft(z, {.n = nfft}) : fft::ifft(z, {.n = nfft});
  parts = slice_in_dim(parts, 0, length, parts.ndim() - 1);
  const Array window = o.window.values(length, real_of(parts.dtype()), where);
  const std::int64_t frames = parts.shape()[std::size_t(parts.ndim() - 2)];
  Array x = overlapped(parts * (sum(window) * window), step), norm = overlapped(broadcast_to(square(window), {frames, length}), step);
  if (o.boundary) {
    const std::int64_t cut = length / 2;
    x = slice_in_dim(x, cut, x.shape().back() - cut, x.ndim() - 1);
    norm = slice_in_dim(norm, cut, norm.shape()[0] - cut, 0);
  }
  x = x / where_above(norm);
  const Array times = arange(double(x.shape()[0]), real_of(x.dtype())) / o.fs;
  if (x.ndim() > 1 && time != z.ndim() - 1) x = moveaxis(x, -1, freq < time ? time - 1 : time);
  return {times, x};
}

}  // namespace shardlab::signals
