// jax.numpy.fft in C++. Along an axis that is not cut a transform moves nothing; over cut axes arrays move by all-to-alls.
#pragma once

#include <string>
#include <vector>

#include "runtime/exec/ops.h"

namespace shardlab::fft {

// fft(x, {.axis = 0, .norm = "ortho"})
struct Options {
  shardlab::detail::ByNameOnly by_name{};
  std::optional<std::int64_t> n = {};  // the length of the signal: cut, or filled with zeros; as it is by default
  std::int64_t axis = -1;
  std::string norm = "backward";  // where the scale goes: backward, ortho or forward
};
Array fft(const Operand& x, const Options& options = {});
Array ifft(const Operand& x, const Options& options = {});
Array rfft(const Operand& x, const Options& options = {});
Array irfft(const Operand& x, const Options& options = {});
// The real spectrum of half a Hermitian signal, and its inverse; n: the length of the real side.
Array hfft(const Operand& x, const Options& options = {});
Array ihfft(const Operand& x, const Options& options = {});

// fftn(x, {.axes = {0, 2}})
struct ManyOptions {
  shardlab::detail::ByNameOnly by_name{};
  std::optional<std::vector<std::int64_t>> s = {};  // the lengths
  AxisList axes = AxisList::all();                  // of fft2 and its like the last two by default
  std::string norm = "backward";
};
Array fftn(const Operand& x, const ManyOptions& options = {});
Array ifftn(const Operand& x, const ManyOptions& options = {});
Array rfftn(const Operand& x, const ManyOptions& options = {});
Array irfftn(const Operand& x, const ManyOptions& options = {});
Array fft2(const Operand& x, const ManyOptions& options = {});
Array ifft2(const Operand& x, const ManyOptions& options = {});
Array rfft2(const Operand& x, const ManyOptions& options = {});
Array irfft2(const Operand& x, const ManyOptions& options = {});

// The zero frequency moved to the middle, and back; over all axes by default.
Array fftshift(const Operand& x, const AxisList& axes = AxisList::all());
Array ifftshift(const Operand& x, const AxisList& axes = AxisList::all());

// The frequencies of the elements of fft and rfft, for samples at a spacing of d.
Array fftfreq(std::int64_t n, double d = 1, std::source_location where = std::source_location::current());
Array rfftfreq(std::int64_t n, double d = 1, std::source_location where = std::source_location::current());

// jax.scipy.fft's cosine transforms of type 2; `norm`: backward or ortho. A signal is filled up with zeros to length n.
struct CosineOptions {
  shardlab::detail::ByNameOnly by_name{};
  std::optional<std::int64_t> n = {};
  std::int64_t axis = -1;
  std::string norm = "backward";
};
Array dct(const Operand& x, const CosineOptions& options = {});
Array idct(const Operand& x, const CosineOptions& options = {});
// Over several axes; all where the list is empty.
Array dctn(const Operand& x, const std::vector<std::int64_t>& axes = {}, const std::string& norm = "backward");
Array idctn(const Operand& x, const std::vector<std::int64_t>& axes = {}, const std::string& norm = "backward");

}  // namespace shardlab::fft

namespace shardlab::signals {

// jax.scipy.signal's convolutions of arrays of any dimensions; `mode`: full, same as x, or valid.
Array convolve(const Operand& x, const Operand& y, const std::string& mode = "full");
Array fftconvolve(const Operand& x, const Operand& y, const std::string& mode = "full");

}  // namespace shardlab::signals
