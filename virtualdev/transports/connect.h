// Connecting processes: the links of a process to some of the others, by shared memory, by TCP or by MPI.
#pragma once

#include <vector>

#include "virtualdev/transports/link_transport.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {

// Fills links.to for `peers`, which are the processes of one host, this one among them, ascending; and the segment. Without an address
// the first of them makes the segment and tells the others at the rendezvous.
void connect_by_shm(const TransportOptions& options, const std::vector<comm::ProcessIndex>& peers, Links& links);

// Fills links.to for `peers`, ascending. Everybody listens and tells its address at the rendezvous; of two processes the higher one
// connects. Both prove that they know the job's secret before a byte of data is taken; strangers are turned away and cost no more than a
// socket for a few seconds.
void connect_by_tcp(const TransportOptions& options, const std::vector<comm::ProcessIndex>& peers, Links& links);

// The rank of each process in the job of Open MPI that started them all, and nobody else; nothing where there is no such job. Every process
// of the job asks, and all get the same.
std::vector<int> mpi_ranks(const TransportOptions& options);
// Fills links.to for `peers`, and the session. Every process of the job does it, with the ranks of mpi_ranks().
void connect_by_mpi(const std::vector<comm::ProcessIndex>& peers, const std::vector<int>& ranks, Links& links);

}  // namespace shardlab
