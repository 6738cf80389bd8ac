// A coordinator that runs by itself: what `shardlab-coordinator` does for jobs that another launcher started.
#pragma once

#include <string>

#include "runtime/control/tls.h"

namespace shardlab::control {

struct ServeOptions {
  int num_processes = 1;
  std::string token;
  std::string host = "127.0.0.1";  // where it listens
  TlsOptions tls;
  bool elastic = false;
  int first_port = 0;  // 0: the system's choice
  int ports = 1;       // how many to try from the first on
  int ready_fd = -1;   // its address is written there with a newline, then it is closed
  int join_timeout_ms = 300'000;
  int heartbeat_timeout_ms = 100'000;  // a process that gives no sign of life for so long is lost
};

// Serves until every process that joined has gone, or nobody came in time. Returns an exit status.
int serve(const ServeOptions&);

// Starts it as a child in its own session, by the program of that name or, where there is none, by a fork of this process. Returns its
// address. Throws TransportError, and UserError for TLS's files.
std::string start_server(ServeOptions);

}  // namespace shardlab::control
