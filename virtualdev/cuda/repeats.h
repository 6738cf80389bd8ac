// Launches that came before: a program whose work was one graph's, with parameters in the same memory, needs none of its steps again.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/exec/backend.h"
#include "virtualdev/cuda/graphed_gpu.h"

namespace shardlab::cuda {

// Keeps the kPerProgram launches of each program that were used last, of which each holds the addresses of its graph and no memory.
//
// Thread rules: one thread at a time.
class Repeats {
 public:
  static constexpr std::size_t kPerProgram = 8, kProgramsMax = 2048;

  // `wrap`: memory that is allocated, as a buffer.
  using Wrap = std::function<std::shared_ptr<Buffer>(std::byte* data, std::size_t bytes)>;
  // The results, if it could be done again. Then parameters whose memory served again have none.
  std::optional<Backend::Slots> find(GraphedGpu& api, std::int64_t program, Backend::Slots& params, const std::string& name,
                                     const Wrap& wrap);
  // What came of the launch that find() was asked for last.
  void remember(GraphedGpu& api, const Backend::Slots& results);
  void forget() { programs_.clear(); }

 private:
  using Places = std::vector<std::byte*>;  // of each parameter and position, in order; nullptr: there is none
  struct Launch {
    Places params;
    std::shared_ptr<const GraphedGpu::Whole> whole;
    std::vector<std::pair<std::byte*, std::size_t>> made;  // and bytes: what the results are in
    Places reused, taken_over;                             // of parameters, which nobody else may hold then; what results are in of it
    // Of each result and position: of `made`, or kNone, or behind kFirstParam the number of a parameter's place.
    std::vector<std::vector<std::int64_t>> results;
  };
  static constexpr std::int64_t kNone = -1, kFirstParam = std::int64_t(1) << 32;
  static Places places_of(const Backend::Slots& params);
  // Whether nobody but these parameters holds what the launch used again.
  static bool holds_alone(const Launch& launch, const Backend::Slots& params);

  std::map<std::int64_t, std::list<Launch>> programs_;  // the one that was used last in front
  std::int64_t asked_ = -1;
  Places asked_params_;
};

}  // namespace shardlab::cuda
