// This process's part in a job of Open MPI: its rank, and links to the others.
#pragma once

#include <memory>
#include <string>

#include "virtualdev/transports/byte_link.h"

namespace shardlab {

// libmpi is loaded and initialised when the first session starts, and respected where the program did that before. Every call to MPI is
// made under one lock. A thread of the session's keeps MPI going for a while after the last traffic: what a link has taken arrives though
// nobody calls it again.
//
// Where MPI was not there at configure time, nothing starts.
class MpiSession {
 public:
  // Why there is none in this build; empty: there is one.
  static std::string why_absent();
  // The job of Open MPI that this process was started in, as a text that is the same for all its processes; empty: none.
  static std::string job();
  static int job_size();
  static int job_rank();

  // Waits until all processes of the job have started theirs. Throws UserError, TransportError.
  static std::unique_ptr<MpiSession> start();
  virtual ~MpiSession() = default;

  virtual int rank() const = 0;
  // The link to the process of that rank; it does not outlive the session.
  virtual std::unique_ptr<ByteLink> link_to(int rank) = 0;
  // Ends MPI where this session began it, together with all other processes. Nothing may be under way.
  virtual void finish() = 0;
};

}  // namespace shardlab
