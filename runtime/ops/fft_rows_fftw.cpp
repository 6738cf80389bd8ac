// Fourier transforms by FFTW.
#include <fftw3.h>

#include <map>
#include <mutex>

#include "runtime/ops/fft_rows.h"

namespace shardlab::ops {
namespace {

// FFTW's planner is not thread-safe, in either precision; its plans are.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

// FFTW's names for one precision.
template <typename R>
struct Names;
#define SHARDLAB_FFTW_NAMES(R, prefix)                           \
  template <>                                                    \
  struct Names<R> {                                              \
    using Plan = prefix##plan;                                   \
    using Complex = prefix##complex;                             \
    static constexpr auto dft = prefix##plan_dft_1d;             \
    static constexpr auto forward = prefix##plan_dft_r2c_1d;     \
    static constexpr auto inverse = prefix##plan_dft_c2r_1d;     \
    static constexpr auto run_dft = prefix##execute_dft;         \
    static constexpr auto run_forward = prefix##execute_dft_r2c; \
    static constexpr auto run_inverse = prefix##execute_dft_c2r; \
    static constexpr auto destroy = prefix##destroy_plan;        \
    static constexpr auto allocate = prefix##malloc;             \
    static constexpr auto release = prefix##free;                \
  };
SHARDLAB_FFTW_NAMES(float, fftwf_)
SHARDLAB_FFTW_NAMES(double, fftw_)
#undef SHARDLAB_FFTW_NAMES

template <typename R>
class Rows final : public FftRows<R> {
  using N = Names<R>;
  using Complex = typename N::Complex;

 public:
  // Plans by estimate: what is measured would differ from run to run. The caller holds the planner.
  Rows(FftKind kind, int length) : kind_(kind) {
    void* in = N::allocate(sizeof(Complex) * std::size_t(length + 1));
    void* out = N::allocate(sizeof(Complex) * std::size_t(length + 1));
    if (kind == FftKind::kRealForward)
      plan_ = N::forward(length, static_cast<R*>(in), static_cast<Complex*>(out), FFTW_ESTIMATE);
    else if (kind == FftKind::kRealInverse)
      plan_ = N::inverse(length, static_cast<Complex*>(in), static_cast<R*>(out), FFTW_ESTIMATE);
    else
      plan_ = N::dft(length, static_cast<Complex*>(in), static_cast<Complex*>(out),
                     kind == FftKind::kForward ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE);
    N::release(in);
    N::release(out);
    SL_CHECK(plan_ != nullptr, "FFTW makes no plan for length {}", length);
  }
  ~Rows() override { N::destroy(plan_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  void run(void* in, void* out) const override {
    if (kind_ == FftKind::kRealForward)
      N::run_forward(plan_, static_cast<R*>(in), static_cast<Complex*>(out));
    else if (kind_ == FftKind::kRealInverse)
      N::run_inverse(plan_, static_cast<Complex*>(in), static_cast<R*>(out));
    else
      N::run_dft(plan_, static_cast<Complex*>(in), static_cast<Complex*>(out));
  }

 private:
  FftKind kind_;
  typename N::Plan plan_;
};

}  // namespace

template <typename R>
const FftRows<R>& fft_rows(FftKind kind, std::int64_t length) {
  using Plans = std::map<std::pair<FftKind, std::int64_t>, std::unique_ptr<Rows<R>>>;
  static Plans& plans = *new Plans;  // used while exit() runs, too
  std::lock_guard lock(planner());
  auto& plan = plans[{kind, length}];
  if (!plan) plan = std::make_unique<Rows<R>>(kind, int(length));
  return *plan;
}
template const FftRows<float>& fft_rows<float>(FftKind, std::int64_t);
template const FftRows<double>& fft_rows<double>(FftKind, std::int64_t);

const char* fft_library() { return fftwf_version; }

}  // namespace shardlab::ops
