// Fourier transforms by the kissfft that comes with Eigen: where FFTW is not.
#include <map>
#include <mutex>
#include <unsupported/Eigen/FFT>
#include <vector>

#include "runtime/ops/fft_rows.h"

namespace shardlab::ops {
namespace {

// Eigen's transforms keep twiddle factors and are not thread-safe, so each call has its own; real ones run as complex ones.
template <typename R>
class Rows final : public FftRows<R> {
 public:
  Rows(FftKind kind, std::int64_t length) : kind_(kind), length_(length) {}

  void run(void* in, void* out) const override {
    using C = std::complex<R>;
    std::size_t n = std::size_t(length_), half = n / 2 + 1;
    std::vector<C> from(n), to(n);
    if (kind_ == FftKind::kRealForward) {
      for (std::size_t i = 0; i < n; ++i) from[i] = static_cast<R*>(in)[i];
    } else if (kind_ == FftKind::kRealInverse) {
      const C* given = static_cast<C*>(in);
      for (std::size_t i = 0; i < n; ++i) from[i] = i < half ? given[i] : std::conj(given[n - i]);
      from[0] = from[0].real();
      if (n % 2 == 0) from[n / 2] = from[n / 2].real();
    } else {
      std::copy_n(static_cast<C*>(in), n, from.data());
    }
    bool forward = kind_ == FftKind::kForward || kind_ == FftKind::kRealForward;
    Eigen::FFT<R> fft(Eigen::default_fft_impl<R>(), Eigen::FFT<R>::Unscaled);
    if (n == 1)
      to = from;
    else if (forward)
      fft.fwd(to.data(), from.data(), Eigen::Index(n));
    else
      fft.inv(to.data(), from.data(), Eigen::Index(n));
    if (kind_ == FftKind::kRealInverse)
      for (std::size_t i = 0; i < n; ++i) static_cast<R*>(out)[i] = to[i].real();
    else
      std::copy_n(to.data(), kind_ == FftKind::kRealForward ? half : n, static_cast<C*>(out));
  }

 private:
  FftKind kind_;
  std::int64_t length_;
};

}  // namespace

template <typename R>
const FftRows<R>& fft_rows(FftKind kind, std::int64_t length) {
  static std::mutex mutex;
  using Plans = std::map<std::pair<FftKind, std::int64_t>, std::unique_ptr<Rows<R>>>;
  static Plans& plans = *new Plans;  // used while exit() runs, too
  std::lock_guard lock(mutex);
  auto& plan = plans[{kind, length}];
  if (!plan) plan = std::make_unique<Rows<R>>(kind, length);
  return *plan;
}
template const FftRows<float>& fft_rows<float>(FftKind, std::int64_t);
template const FftRows<double>& fft_rows<double>(FftKind, std::int64_t);

const char* fft_library() { return "kissfft (Eigen)"; }

}  // namespace shardlab::ops
