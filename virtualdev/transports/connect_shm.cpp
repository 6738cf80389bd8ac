#include <algorithm>

#include "runtime/base/error.h"
#include "virtualdev/transports/connect.h"
#include "virtualdev/transports/shm_link.h"

namespace shardlab {

void connect_by_shm(const TransportOptions& options, const std::vector<comm::ProcessIndex>& peers, Links& links) {
  int first = peers.front(), self = options.process_index;
  bool for_all = !options.address.empty();  // ranks in the segment are then the processes' numbers
  if (for_all) {
    links.segment = ShmSegment::open(options.address);
  } else if (options.num_processes == 1) {
    links.segment = ShmSegment::create(1);
  } else {
    SL_CHECK(options.rendezvous != nullptr, "neither a segment nor a rendezvous");
    std::string key = fmt::format("shardlab/shm/{}", first);
    if (self == first) {
      links.segment = ShmSegment::create(int(peers.size()));
      options.rendezvous->set(key, links.segment->name());
      if (!links.segment->wait_arrived(int(peers.size()) - 1, options.limit))
        throw TransportError(
            fmt::format("process {}: not all processes of this host opened its shared memory within {} ms", self, options.limit.count()));
    } else {
      links.segment = ShmSegment::open(options.rendezvous->get(key, options.limit));
      links.segment->arrive();
    }
  }
  auto rank_of = [&](comm::ProcessIndex process) {
    return for_all ? process : int(std::lower_bound(peers.begin(), peers.end(), process) - peers.begin());
  };
  int wanted = for_all ? options.num_processes : int(peers.size());
  SL_CHECK(links.segment->num_processes() == wanted, "process {} opened shared memory of {} processes, wanted {}", self,
           links.segment->num_processes(), wanted);
  links.rank = rank_of(self);
  for (comm::ProcessIndex peer : peers)
    if (peer != self) links.to[std::size_t(peer)] = make_shm_link(*links.segment, links.rank, rank_of(peer));
}

}  // namespace shardlab
