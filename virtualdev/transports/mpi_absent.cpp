// A build without MPI.
#include "runtime/base/error.h"
#include "virtualdev/transports/mpi_session.h"

namespace shardlab {

std::string MpiSession::why_absent() { return "this build has no MPI: install libopenmpi-dev and configure it again"; }
std::string MpiSession::job() { return ""; }
int MpiSession::job_size() { return 0; }
int MpiSession::job_rank() { return 0; }
std::unique_ptr<MpiSession> MpiSession::start() { throw_user_error("{}", why_absent()); }

}  // namespace shardlab
