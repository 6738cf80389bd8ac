#include "runtime/spmd/body_plans.h"

namespace shardlab::spmd {

BodyPlans::Plan BodyPlans::planned(const Key& key, const std::function<Plan()>& make) {
  std::shared_future<Plan> plan;
  {
    const std::scoped_lock lock(mutex_);
    std::shared_future<Plan>& known = plans_[key];
    if (!known.valid()) known = std::async(std::launch::deferred, make).share();  // made below, by who waits first
    plan = known;
  }
  return plan.get();
}

}  // namespace shardlab::spmd
