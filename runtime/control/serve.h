// A coordinator that runs by itself: what `shardlab-coordinator` does for jobs that another launcher started.
#pragma once

#include <string>

#include "runtime/control/coordinator.h"
#include "runtime/control/tls.h"

namespace shardlab::control {

// Where the merged trace of an unsupervised job goes, and what its processes record into. Empty: nobody wants one.
struct TracePlace {
  std::string out, parts;
  bool keep = false;  // the parts, when they are merged
};

struct ServeOptions {
  int num_processes = 1;
  std::string token;
  std::string host = "127.0.0.1";  // where it listens
  TlsOptions tls;
  bool elastic = false;
  int first_port = 0;  // 0: the system's choice
  int ports = 1;       // how many to try from the first on
  int ready_fd = -1;   // its address is written there with a newline; closed then, or where there is a trace, when that is merged
  int join_timeout_ms = 300'000;
  int heartbeat_timeout_ms = 100'000;  // a process that gives no sign of life for so long is lost
  TracePlace trace;
  void (*merge)(const Coordinator&, const TracePlace&) = nullptr;  // once all have ended
};

// Serves until every process that joined has gone, or nobody came in time. Returns an exit status.
int serve(const ServeOptions&);

// Starts it as a child in its own session, by the program of that name or, where there is none, by a fork of this process. Returns its
// address; `merged_fd`, with a trace, gets a descriptor that is at its end when the trace is merged. Throws TransportError, and UserError
// for TLS's files.
std::string start_server(ServeOptions, int* merged_fd = nullptr);

}  // namespace shardlab::control
