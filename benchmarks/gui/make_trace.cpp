// make_trace OUT.db [--events N] [--seed S] [--processes P] [--devices D] [--step N] [--arrays N]: a trace for measuring the window.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>

#include "benchmarks/gui/trace_maker.h"

namespace {

std::int64_t number(const char* text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  return error == std::errc() && *end == 0 ? value : -1;
}

}  // namespace

int main(int argc, char** argv) {
  shardlab::bench::TracePlan plan;
  bool wrong = argc < 2 || argc % 2 != 0;
  if (argc > 1) plan.out = argv[1];
  for (int i = 2; i + 1 < argc && !wrong; i += 2) {
    const std::string name = argv[i];
    const std::int64_t value = number(argv[i + 1]);
    wrong = value < 1;
    if (name == "--events")
      plan.events = value;
    else if (name == "--seed")
      plan.seed = std::uint64_t(value);
    else if (name == "--processes")
      plan.processes = int(value);
    else if (name == "--devices")
      plan.devices = int(value);
    else if (name == "--step")
      plan.step = value;
    else if (name == "--arrays")
      plan.arrays = value;
    else
      wrong = true;
  }
  if (wrong || plan.lanes() > 1 << 16) {
    std::fputs("usage: make_trace OUT.db [--events N] [--seed S] [--processes P] [--devices D] [--step N] [--arrays N]\n", stderr);
    return 3;
  }
  try {
    shardlab::bench::make_trace(plan);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "make_trace: %s\n", problem.what());
    return 1;
  }
  std::printf("%s: %lld lanes x %lld steps\n", plan.out.c_str(), static_cast<long long>(plan.lanes()),
              static_cast<long long>(plan.steps()));
  return 0;
}
