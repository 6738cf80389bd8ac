#include "virtualdev/cuda/repeats.h"

#include <algorithm>

#include "virtualdev/cuda/gpu_memory.h"

namespace shardlab::cuda {

Repeats::Places Repeats::places_of(const Backend::Slots& params) {
  Places places;
  for (const auto& param : params)
    for (const BufferRef& buffer : param) places.push_back(buffer ? block_of(*buffer).data : nullptr);
  return places;
}

std::optional<Backend::Slots> Repeats::find(GraphedGpu& api, std::int64_t program, const Backend::Slots& params, const std::string& name,
                                            const Wrap& wrap) {
  asked_ = program;
  asked_params_ = places_of(params);
  auto known = programs_.find(program);
  if (known == programs_.end()) return std::nullopt;
  std::list<Launch>& launches = known->second;
  auto launch = std::find_if(launches.begin(), launches.end(), [&](const Launch& each) { return each.params == asked_params_; });
  if (launch == launches.end() || !api.repeat(*launch->whole, name)) return std::nullopt;
  launches.splice(launches.begin(), launches, launch);
  std::vector<BufferRef> made, given;
  for (const auto& [data, bytes] : launch->made) made.push_back(wrap(data, bytes));
  for (const auto& param : params) given.insert(given.end(), param.begin(), param.end());
  Backend::Slots results;
  for (const auto& places : launch->results) {
    results.emplace_back();
    for (std::int64_t place : places)
      results.back().push_back(place == kNone         ? nullptr
                               : place >= kFirstParam ? given[std::size_t(place - kFirstParam)]
                                                      : made[std::size_t(place)]);
  }
  return results;
}

void Repeats::remember(GraphedGpu& api, const Backend::Slots& results) {
  const std::int64_t program = std::exchange(asked_, -1);
  const auto whole = api.last_whole();
  if (program < 0 || whole == nullptr) return;
  Launch launch{std::move(asked_params_), nullptr, {}, {}};
  Places taken;
  for (const auto& result : results) {
    launch.results.emplace_back();
    for (const BufferRef& buffer : result) {
      std::int64_t place = kNone;
      if (buffer) {
        const Block& block = block_of(*buffer);
        auto param = std::find(launch.params.begin(), launch.params.end(), block.data);
        auto known = std::find(taken.begin(), taken.end(), block.data);
        if (param != launch.params.end()) {
          place = kFirstParam + (param - launch.params.begin());
        } else if (known != taken.end()) {
          place = known - taken.begin();
        } else if (whole->memory().count(block.data) > 0) {
          place = std::int64_t(taken.size());
          taken.push_back(block.data);
          launch.made.push_back({block.data, block.bytes});
        } else {
          return;  // a constant's
        }
      }
      launch.results.back().push_back(place);
    }
  }
  launch.whole = api.noted(*whole, taken);
  if (launch.whole == nullptr) return;
  if (programs_.size() >= kProgramsMax && programs_.count(program) == 0) programs_.clear();
  std::list<Launch>& launches = programs_[program];
  std::erase_if(launches, [&](const Launch& each) { return each.params == launch.params; });
  launches.push_front(std::move(launch));
  if (launches.size() > kPerProgram) launches.pop_back();
}

}  // namespace shardlab::cuda
