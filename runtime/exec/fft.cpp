#include "runtime/exec/fft.h"

#include "runtime/exec/op_call.h"

namespace shardlab::fft {
namespace {

Array one_axis(std::string_view op, const Operand& x, const Options& options) {
  Attrs attrs{{"axis", options.axis}, {"norm", options.norm}};
  if (options.n) attrs.set("n", *options.n);
  return std::move(apply(op, {x}, attrs, x.where()).at(0));
}

Array many_axes(std::string_view op, const Operand& x, const ManyOptions& options) {
  Attrs attrs{{"norm", options.norm}};
  if (!options.axes.is_all()) attrs.set("axes", options.axes.axes());
  if (options.s) attrs.set("s", *options.s);
  return std::move(apply(op, {x}, attrs, x.where()).at(0));
}

Array shifted(std::string_view op, const Operand& x, const AxisList& axes) {
  Attrs attrs;
  if (!axes.is_all()) attrs.set("axes", axes.axes());
  return std::move(apply(op, {x}, attrs, x.where()).at(0));
}

Array frequencies(std::string_view op, std::int64_t n, double d, std::source_location where) {
  return std::move(apply(op, {}, Attrs{{"n", n}, {"d", d}}, Where::from(where)).at(0));
}

}  // namespace

Array fft(const Operand& x, const Options& options) { return one_axis("fft.fft", x, options); }
Array ifft(const Operand& x, const Options& options) { return one_axis("fft.ifft", x, options); }
Array rfft(const Operand& x, const Options& options) { return one_axis("fft.rfft", x, options); }
Array irfft(const Operand& x, const Options& options) { return one_axis("fft.irfft", x, options); }
Array hfft(const Operand& x, const Options& options) { return one_axis("fft.hfft", x, options); }
Array ihfft(const Operand& x, const Options& options) { return one_axis("fft.ihfft", x, options); }
Array fftn(const Operand& x, const ManyOptions& options) { return many_axes("fft.fftn", x, options); }
Array ifftn(const Operand& x, const ManyOptions& options) { return many_axes("fft.ifftn", x, options); }
Array rfftn(const Operand& x, const ManyOptions& options) { return many_axes("fft.rfftn", x, options); }
Array irfftn(const Operand& x, const ManyOptions& options) { return many_axes("fft.irfftn", x, options); }
Array fft2(const Operand& x, const ManyOptions& options) { return many_axes("fft.fft2", x, options); }
Array ifft2(const Operand& x, const ManyOptions& options) { return many_axes("fft.ifft2", x, options); }
Array rfft2(const Operand& x, const ManyOptions& options) { return many_axes("fft.rfft2", x, options); }
Array irfft2(const Operand& x, const ManyOptions& options) { return many_axes("fft.irfft2", x, options); }
Array fftshift(const Operand& x, const AxisList& axes) { return shifted("fft.fftshift", x, axes); }
Array ifftshift(const Operand& x, const AxisList& axes) { return shifted("fft.ifftshift", x, axes); }
Array fftfreq(std::int64_t n, double d, std::source_location where) { return frequencies("fft.fftfreq", n, d, where); }
Array rfftfreq(std::int64_t n, double d, std::source_location where) { return frequencies("fft.rfftfreq", n, d, where); }

namespace {

Array cosine(std::string_view op, const Operand& x, const CosineOptions& options) {
  Attrs attrs{{"axis", options.axis}, {"norm", options.norm}};
  if (options.n) attrs.set("n", *options.n);
  return shardlab::detail::one(op, {x}, attrs);
}
Array cosine_over(std::string_view op, const Operand& x, const std::vector<std::int64_t>& axes, const std::string& norm) {
  Attrs attrs{{"norm", norm}};
  if (!axes.empty()) attrs.set("axes", axes);
  return shardlab::detail::one(op, {x}, attrs);
}

}  // namespace

Array dct(const Operand& x, const CosineOptions& options) { return cosine("fft.dct", x, options); }
Array idct(const Operand& x, const CosineOptions& options) { return cosine("fft.idct", x, options); }
Array dctn(const Operand& x, const std::vector<std::int64_t>& axes, const std::string& norm) {
  return cosine_over("fft.dctn", x, axes, norm);
}
Array idctn(const Operand& x, const std::vector<std::int64_t>& axes, const std::string& norm) {
  return cosine_over("fft.idctn", x, axes, norm);
}

}  // namespace shardlab::fft

namespace shardlab::signals {

Array convolve(const Operand& x, const Operand& y, const std::string& mode) {
  return shardlab::detail::one("signal.convolve", {x, y}, {{"mode", mode}});
}
Array fftconvolve(const Operand& x, const Operand& y, const std::string& mode) {
  return shardlab::detail::one("signal.fftconvolve", {x, y}, {{"mode", mode}});
}

}  // namespace shardlab::signals
