#include "virtualdev/cuda/repeats.h"

#include <algorithm>

#include "virtualdev/cuda/gpu_memory.h"

namespace shardlab::cuda {

namespace {

bool contains(const std::vector<std::byte*>& list, const std::byte* data) {
  return std::find(list.begin(), list.end(), data) != list.end();
}

}  // namespace

bool Repeats::holds_alone(const Launch& launch, const Backend::Slots& params) {
  if (launch.reused.empty()) return true;
  std::map<const Buffer*, long> holders;
  for (const auto& param : params)
    for (const BufferRef& buffer : param)
      if (buffer && contains(launch.reused, block_of(*buffer).data)) ++holders[buffer.get()];
  for (const auto& param : params)
    for (const BufferRef& buffer : param)
      if (auto found = holders.find(buffer.get()); found != holders.end() && buffer.use_count() != found->second) return false;
  return true;
}

Repeats::Places Repeats::places_of(const Backend::Slots& params) {
  Places places;
  for (const auto& param : params)
    for (const BufferRef& buffer : param) places.push_back(buffer ? block_of(*buffer).data : nullptr);
  return places;
}

std::optional<Backend::Slots> Repeats::find(GraphedGpu& api, std::int64_t program, Backend::Slots& params, const std::string& name,
                                            const Wrap& wrap) {
  asked_ = program;
  asked_params_ = places_of(params);
  auto known = programs_.find(program);
  if (known == programs_.end()) return std::nullopt;
  std::list<Launch>& launches = known->second;
  auto launch = std::find_if(launches.begin(), launches.end(), [&](const Launch& each) {
    return each.params == asked_params_ && holds_alone(each, params) && api.repeat(*each.whole, name);
  });
  if (launch == launches.end()) return std::nullopt;
  launches.splice(launches.begin(), launches, launch);
  std::vector<BufferRef> made, given;
  for (const auto& param : params) given.insert(given.end(), param.begin(), param.end());
  for (const BufferRef& buffer : given)
    if (buffer && contains(launch->taken_over, block_of(*buffer).data)) take_over(*buffer);
  for (const auto& [data, bytes] : launch->made) made.push_back(wrap(data, bytes));
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
  Launch launch{std::move(asked_params_), nullptr, {}, {whole->reused().begin(), whole->reused().end()}, {}, {}};
  for (std::byte* data : launch.reused)
    if (!contains(launch.params, data)) return;  // of whom it was nobody can tell
  Places taken;
  for (const auto& result : results) {
    launch.results.emplace_back();
    for (const BufferRef& buffer : result) {
      std::int64_t place = kNone;
      if (buffer) {
        const Block& block = block_of(*buffer);
        const bool is_reused = whole->reused().count(block.data) > 0;
        auto param = std::find(launch.params.begin(), launch.params.end(), block.data);
        auto known = std::find_if(launch.made.begin(), launch.made.end(), [&](const auto& each) { return each.first == block.data; });
        if (param != launch.params.end() && !is_reused) {
          place = kFirstParam + (param - launch.params.begin());
        } else if (known != launch.made.end()) {
          place = known - launch.made.begin();
        } else if (is_reused || whole->memory().count(block.data) > 0) {
          place = std::int64_t(launch.made.size());
          (is_reused ? launch.taken_over : taken).push_back(block.data);
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
  // With others' results, since who calls may still hold those of the call before.
  std::erase_if(launches, [&](const Launch& each) { return each.params == launch.params && each.made == launch.made; });
  launches.push_front(std::move(launch));
  if (launches.size() > kPerProgram) launches.pop_back();
}

}  // namespace shardlab::cuda
