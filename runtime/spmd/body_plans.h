// The programs of loops' and branches' bodies, planned once for each set of forms that they take and give.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// The versions of a program (lighter, in parts, rounded otherwise) have most of their bodies in common: they share one of these.
// Any thread may ask; who asks for what another one is planning waits for it.
class BodyPlans {
 public:
  using Plan = std::shared_ptr<const PartitionedProgram>;
  // The bodies of a node, which of them, and the forms of its parameters and results.
  using Key = std::tuple<SharedBodies, std::size_t, std::vector<Spec>, std::vector<Spec>>;

  // What `make` gives, or gave the first time.
  Plan planned(const Key& key, const std::function<Plan()>& make);

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_future<Plan>> plans_;
};

}  // namespace shardlab::spmd
