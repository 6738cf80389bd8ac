#include "tests/fuzz/check.h"

#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/tracing.h"
#include "runtime/ops/derive.h"
#include "runtime/transform/batch.h"
#include "runtime/transform/grad.h"
#include "tests/fuzz/noise.h"
#include "tests/fuzz/program.h"

namespace shardlab::fuzz {
namespace {

enum class Mode { kValues, kGradients, kTangents, kBatch };
constexpr const char* kModeNames[] = {"values", "gradients", "tangents", "batch"};
constexpr int kOpsMax = 14;
constexpr std::int64_t kBatchSize = 2;

using Numbers = std::vector<std::complex<double>>;

// How often each program runs: the last time counts. On a GPU the second is a graph, and the fourth needs none of its steps.
int repeats() {
  static const char* said = std::getenv("SHARDLAB_FUZZ_REPEATS");
  return said == nullptr ? 1 : std::max(std::atoi(said), 1);
}

Numbers numbers_of(const Array& array) {
  Buffer whole = array.fetch();
  Numbers numbers;
  visit_dtype(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < array.size(); ++i) {
      T value = whole.as<T>()[i];
      if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>)
        numbers.emplace_back(value.real(), value.imag());
      else if constexpr (std::is_same_v<T, Bfloat16> || std::is_same_v<T, Float16>)
        numbers.emplace_back(double(float(value)), 0.0);
      else
        numbers.emplace_back(double(value), 0.0);
    }
  });
  return numbers;
}

// A program in one of its forms, with everything needed to run it.
class Run {
 public:
  Run(unsigned seed, int ops, Mode mode) : program_(seed, ops), mode_(mode), data_(program_.data()) {
    for (const TensorType& type : program_.params()) active_.push_back(ops::has_tangent(type.dtype) && !is_complex(type.dtype));
  }

  Graph traced(bool sharded) const {
    Graph graph = Tracer::trace(Context::current(), "fuzz", sharded ? std::optional(program_.mesh()) : std::nullopt, program_.params(),
                                [&](const std::vector<Array>& args) { return with_loss(program_.run(args, sharded)); });
    switch (mode_) {
      case Mode::kGradients:
        return transform::value_and_grad(graph, active_, "fuzz", {});
      case Mode::kTangents:
        return transform::jvp(graph, active_);
      case Mode::kBatch:
        return transform::batch(graph, std::vector<int>(graph.params.size(), 0), std::vector<int>(graph.results.size(), 0), {kBatchSize});
      default:
        return graph;
    }
  }

  std::vector<Array> results(const Graph& graph, bool sharded) const {
    ProgramRequest request;
    request.name = "fuzz";
    request.args = args(graph, sharded);
    request.trace = [&](const std::vector<Array>&, const std::optional<Mesh>&) { return graph; };
    static int runs = 0;
    const std::string key = fmt::format("fuzz{}", runs++);
    std::vector<Array> results = run_program(Context::current(), key, request);
    for (int again = 1; again < repeats(); ++again) {
      results.clear();  // a GPU then finds the same memory, and does the same graph
      results = run_program(Context::current(), key, request);
    }
    return results;
  }

  std::string text(const Graph& graph) const {
    std::vector<std::string> lies;
    for (const auto& sharding : program_.shardings()) lies.push_back(sharding ? sharding->spec_text() : "uncommitted");
    return fmt::format("mesh {} on devices [{}]\nparameters lie as {}\n{}", program_.mesh().text(),
                       fmt::join(program_.mesh().devices(), ", "), fmt::join(lies, "; "), print(graph));
  }

 private:
  // Of all floating results, weighted differently.
  std::vector<Array> with_loss(std::vector<Array> results) const {
    if (mode_ != Mode::kGradients) return results;
    Array loss = zeros({});
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!is_inexact(results[i].dtype())) continue;
      Array x = is_complex(results[i].dtype()) ? real(results[i]) + imag(results[i]) * 0.5 : results[i];
      Array weights = cos(arange(x.size(), float32) * 0.7 + double(i));
      loss = loss + sum(astype(x, float32) * reshape(weights, x.shape()));
    }
    results.insert(results.begin(), loss);
    return results;
  }

  std::vector<Array> args(const Graph& graph, bool sharded) const {
    std::vector<Array> all;
    for (std::size_t i = 0; i < graph.params.size(); ++i) {
      const TensorType& type = graph.type(graph.params[i]);
      std::size_t number = i;  // tangents follow, in order
      if (i >= program_.params().size()) {
        number = 0;
        for (std::size_t left = i - program_.params().size() + 1; number < active_.size(); ++number)
          if (active_[number] && --left == 0) break;
      }
      std::vector<std::byte> bytes = data_[number];
      for (std::size_t size = bytes.size(); bytes.size() < std::size_t(type.bytes());)
        bytes.insert(bytes.end(), bytes.begin(), bytes.begin() + std::ptrdiff_t(size));
      Array array = array_from_host(type, bytes);
      const auto& sharding = program_.shardings()[number];
      if (sharded && sharding) array = device_put(array, mode_ == Mode::kBatch ? with_batch(*sharding, type.rank() - 1) : *sharding);
      all.push_back(array);
    }
    return all;
  }

  static Sharding with_batch(const Sharding& sharding, int rank) {
    Spec spec = sharding.spec(rank);
    spec.insert(spec.begin(), Axes{});
    return {sharding.mesh(), std::move(spec)};
  }

  Program program_;
  Mode mode_;
  std::vector<std::vector<std::byte>> data_;
  std::vector<bool> active_;
};

double largest(const Numbers& a, const Numbers& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double difference = std::abs(a[i] - b[i]);
    if (std::isnan(difference))
      difference = a[i] == b[i] || std::isnan(std::abs(a[i])) == std::isnan(std::abs(b[i])) ? 0 : std::numeric_limits<double>::infinity();
    most = std::max(most, difference);
  }
  return most;
}

double magnitude(const Numbers& a) {
  double most = 0;
  for (const auto& x : a)
    if (std::isfinite(std::abs(x))) most = std::max(most, std::abs(x));
  return most;
}

bool is_same(std::complex<double> a, std::complex<double> b, double tolerance) {
  auto same = [&](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= tolerance; };
  return same(a.real(), b.real()) && same(a.imag(), b.imag());
}

// In which sums are computed: halves in floats.
double least_normal(DType dtype) {
  const bool is_double = dtype == DType::kFloat64 || dtype == DType::kComplex128;
  return is_double ? std::numeric_limits<double>::min() : double(std::numeric_limits<float>::min());
}

// What is different, or nothing.
// `noise`: of each result, by roundings. `units`: per result the relative size of a rounding that is free; 0: it is the same to the bit.
std::string difference(const std::vector<Array>& sharded, const std::vector<Array>& whole, const std::vector<double>& noise,
                       const std::vector<double>& units) {
  constexpr double kNoiseTimes = 8, kUnits = 8;  // the noise of a few runs is a sample of what rounding does
  constexpr double kFlushedTerms = 16;  // of a sum: a term that would be denormal counts as 0, which one it is depends on the order
  if (sharded.size() != whole.size()) return fmt::format("{} results, on one device {}", sharded.size(), whole.size());
  for (std::size_t r = 0; r < whole.size(); ++r) {
    if (sharded[r].type() != whole[r].type())
      return fmt::format("result {} is {}, on one device {}", r, sharded[r].type().text(), whole[r].type().text());
    Numbers got = numbers_of(sharded[r]), wanted = numbers_of(whole[r]);
    double tolerance = kNoiseTimes * noise[r];
    constexpr double kHalfUnit = 1.0 / 1024, kHalfStep = 6e-8;  // float16 gets no finer near 0
    tolerance += kUnits * (units[r] * magnitude(wanted) + (units[r] >= kHalfUnit ? kHalfStep : 0));
    tolerance += kFlushedTerms * least_normal(whole[r].dtype());
    if (!is_inexact(whole[r].dtype()) || units[r] == 0) tolerance = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!is_same(got[i], wanted[i], tolerance))
        return fmt::format("result {} ({}), element {}: got ({:.9g}, {:.9g}), on one device ({:.9g}, {:.9g}); tolerance {:.3g}", r,
                           whole[r].type().text(), i, got[i].real(), got[i].imag(), wanted[i].real(), wanted[i].imag(), tolerance);
  }
  return "";
}

// Refusals that a program may meet with: ops without a derivative or a batch, forward mode of custom_vjp.
bool is_refusal(const std::string& text) {
  return text.find("not implemented") != std::string::npos || text.find("can't apply forward-mode differentiation") != std::string::npos;
}

Outcome check(unsigned seed, int ops, Mode mode) {
  Outcome out{"", kModeNames[int(mode)], 0};
  Run run(seed, ops, mode);
  Graph whole, sharded;
  try {
    whole = run.traced(false);
    sharded = run.traced(true);
  } catch (const UserError& error) {
    if (mode != Mode::kValues && is_refusal(error.what())) return check(seed, ops, Mode::kValues);
    out.failure = error.what();
    return out;
  } catch (const Error& error) {
    out.failure = error.what();
    return out;
  }
  out.nodes = int(sharded.nodes.size());
  try {
    const bool has_loss = mode == Mode::kGradients;
    const std::vector<Array> got = run.results(sharded, true), wanted = run.results(whole, false);
    std::vector<double> units = units_of_roundings(whole, has_loss), noise(wanted.size(), 0);
    auto add_noise = [&](const Graph& graph, bool is_sharded, const std::vector<Array>& without) {
      constexpr unsigned kNoisyRuns = 3;
      for (unsigned i = 0; i < kNoisyRuns; ++i) {
        const std::vector<Array> noisy = run.results(with_noise(graph, seed + i), is_sharded);
        for (std::size_t r = 0; r < noise.size(); ++r) noise[r] = std::max(noise[r], largest(numbers_of(noisy[r]), numbers_of(without[r])));
      }
    };
    add_noise(whole, false, wanted);
    out.failure = difference(got, wanted, noise, units);
    if (!out.failure.empty() && got.size() == wanted.size()) {  // what is there for several devices alone may round, too: x / 6 * 6
      add_noise(sharded, true, got);
      const std::vector<double> of_sharded = units_of_roundings(sharded, has_loss);
      for (std::size_t r = 0; r < units.size(); ++r) units[r] = std::max(units[r], of_sharded.at(r));
      out.failure = difference(got, wanted, noise, units);
    }
  } catch (const Error& error) { out.failure = error.what(); }
  if (mode != Mode::kValues && is_refusal(out.failure)) return check(seed, ops, Mode::kValues);
  if (!out.failure.empty()) out.failure += "\n" + run.text(sharded);
  return out;
}

}  // namespace

Outcome check_program(unsigned seed) {
  Random random(seed * 2u + 4000037u);
  constexpr Mode kModes[] = {Mode::kValues,    Mode::kValues,    Mode::kGradients, Mode::kGradients,
                             Mode::kGradients, Mode::kGradients, Mode::kTangents,  Mode::kBatch};
  const Mode mode = random.of(kModes);
  const int ops = 2 + random.below(kOpsMax);
  Outcome all = check(seed, ops, mode);
  if (all.failure.empty()) return all;
  for (int fewer = 1; fewer < ops; ++fewer)
    if (Outcome beginning = check(seed, fewer, mode); !beginning.failure.empty()) {
      all.failure = fmt::format("with its first {} of {} steps: {}", fewer, ops, beginning.failure);
      break;
    }
  all.failure = fmt::format("program of seed {}, {}, {}", seed, all.mode, all.failure);
  return all;
}

}  // namespace shardlab::fuzz
