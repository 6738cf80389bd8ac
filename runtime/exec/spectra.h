// jax.scipy.signal: two-dimensional convolutions, trends, and spectra of windowed segments. Made of other functions, with their derivatives
// and shardings.
#pragma once

#include "runtime/exec/ops.h"

namespace shardlab::signals {

// `mode`: full, same or valid. One signal must not be smaller than the other in any dimension.
Array convolve2d(const Operand& x, const Operand& y, std::string_view mode = "full");
Array correlate2d(const Operand& x, const Operand& y, std::string_view mode = "full");

// Without the mean ("constant"), or the line of least squares ("linear") between break points.
struct DetrendOptions {
  shardlab::detail::ByNameOnly by_name{};
  std::int64_t axis = -1;
  std::string type = "linear";
  std::vector<std::int64_t> bp = {};
};
Array detrend(const Operand& x, const DetrendOptions& options = {});

// A window by its name: hann, hamming, blackman, bartlett or boxcar, as scipy.signal.get_window makes it (periodic); or its values.
class Window {
 public:
  Window(const char* name) : name_(name) {}             // NOLINT: implicit on purpose
  Window(std::string name) : name_(std::move(name)) {}  // NOLINT
  Window(const Array& values) : values_(values) {}      // NOLINT
  bool has_values() const { return values_.valid(); }
  // Of `length` elements. UserError where there is no such name, or the values are of another length.
  Array values(std::int64_t length, DType dtype, Where where) const;
  std::int64_t size() const { return values_.size(); }

 private:
  std::string name_;
  Array values_;
};

struct SpectrumOptions {
  shardlab::detail::ByNameOnly by_name{};
  double fs = 1;
  Window window = "hann";
  std::optional<std::int64_t> nperseg = {}, noverlap = {}, nfft = {};  // the signal's length (256 of stft), half of it, nperseg
  std::string detrend = "constant";                                    // or linear, or nothing
  bool return_onesided = true;
  std::string scaling = "density";  // or spectrum
  std::int64_t axis = -1;
  std::string average = "mean";  // or median
};
struct StftOptions {
  shardlab::detail::ByNameOnly by_name{};
  double fs = 1;
  Window window = "hann";
  std::int64_t nperseg = 256;
  std::optional<std::int64_t> noverlap = {}, nfft = {};
  std::string detrend = "";
  bool return_onesided = true;
  std::string boundary = "zeros";  // or even, odd, constant, or nothing
  bool padded = true;
  std::int64_t axis = -1;
};
struct Stft {
  Array frequencies, times, Zxx;
};
Stft stft(const Operand& x, const StftOptions& options = {});
// Frequencies and densities: of one signal, and of two together.
std::pair<Array, Array> welch(const Operand& x, const SpectrumOptions& options = {});
std::pair<Array, Array> csd(const Operand& x, const Operand& y, const SpectrumOptions& options = {});

struct IstftOptions {
  shardlab::detail::ByNameOnly by_name{};
  double fs = 1;
  Window window = "hann";
  std::optional<std::int64_t> nperseg = {}, noverlap = {}, nfft = {};
  bool input_onesided = true, boundary = true;
  std::int64_t time_axis = -1, freq_axis = -2;
};
// Times and the signal.
std::pair<Array, Array> istft(const Operand& Zxx, const IstftOptions& options = {});

}  // namespace shardlab::signals
