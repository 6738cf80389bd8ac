// make_sample_trace NAME OUT.db [COLLECTIVES]: one of the sample traces, as a file.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/traces/sample_trace.h"

int main(int argc, char** argv) {
  using namespace shardlab::traces::sample;
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: make_sample_trace NAME OUT.db [COLLECTIVES]\nnames:");
    for (auto name : sample_names()) std::fprintf(stderr, " %.*s", int(name.size()), name.data());
    std::fprintf(stderr, "\n");
    return 3;
  }
  try {
    SampleOptions options;
    if (argc == 4) options.collectives = std::strtoll(argv[3], nullptr, 10);
    write_sample_trace(argv[1], argv[2], options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
}
