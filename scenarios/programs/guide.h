// What the guide's programs share: their places in the job, from the command line or the surroundings.
#pragma once

#include <shardlab/shardlab.h>

#include <cstdlib>
#include <stdexcept>

// PROGRAM                             in the job that it was started in
// PROGRAM host:port PROCESS PROCESSES by hand, once for each process
inline void join(int argc, char** argv) {
  if (argc == 4)
    shardlab::distributed::initialize(argv[1], std::atoi(argv[3]), std::atoi(argv[2]));
  else
    shardlab::distributed::initialize();
}

// The guide's assert.
inline void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}
