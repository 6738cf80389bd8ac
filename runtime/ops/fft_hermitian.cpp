// fft.hfft and fft.ihfft: transforms of signals whose spectra are real, as jax.numpy.fft lowers them.
#include "runtime/ops/compose.h"

namespace shardlab::ops {
namespace {

// What scales forward here scales backward there.
Attrs turned(const Attrs& attrs) {
  std::string norm = attrs.has("norm") ? attrs.string("norm") : "backward";
  Attrs own = attrs;
  return own.set("norm", std::string(norm == "backward" ? "forward" : norm == "forward" ? "backward" : norm));
}

Values expand_hfft(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  Term x = as_inexact(term(b, args[0]));
  return {call("fft.irfft", is_complex(x.dtype()) ? call("conj", x) : x, turned(attrs)).id()};
}
Values expand_ihfft(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  return {call("conj", call("fft.rfft", term(b, args[0]), turned(attrs))).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kAttrs[] = {{"axis", Kind::kInteger, false, "the axis; the last by default"},
                              {"n", Kind::kInteger, false, "the length of the real side; as it is by default"},
                              {"norm", Kind::kString, false, "where the scale goes: backward (the default), ortho or forward"}};

}  // namespace

extern const OpDef kHfft, kIhfft;

const OpDef kHfft = composite_of({"fft.hfft", "The real spectrum of half a Hermitian signal.", expand_hfft, 1, 1, kAttrs});
const OpDef kIhfft =
    composite_of({"fft.ihfft", "The inverse of hfft: half a Hermitian signal of a real spectrum.", expand_ihfft, 1, 1, kAttrs});

}  // namespace shardlab::ops
