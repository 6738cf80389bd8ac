// What a backend may want to know of launches beside their steps: one whose devices work on by themselves, or in other processes' memory.
// Kept apart from Backend, as CPU devices have no use for it: the executor asks each backend whether it is one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "runtime/comm/launch.h"
#include "runtime/exec/backend.h"

namespace shardlab {

// Thread rules: called by the thread that runs the launch.
class LaunchAware {
 public:
  virtual ~LaunchAware() = default;
  // A launch of this program begins. Where several processes run it, what exchange() needs between them may be made ready meanwhile. Does
  // not block. `program` lives as long as the launch; every process that exchanges in it has the same.
  virtual void begin_launch(const comm::ProgramInfo& program) = 0;
  virtual void end_launch() = 0;
  // Whether that is still being made, which may outlast the launch. Any thread.
  virtual bool is_preparing() = 0;
  // Around the launch's steps; `program`: an address that the steps of no other have. What is asked in between may begin as late as
  // end_steps(), in one go.
  virtual void begin_steps(const void* program) = 0;
  virtual void end_steps() = 0;
  // A launch that nobody watches, as one of the same program before it: with parameters in the same memory, and the memory that it worked
  // in free again. `program`: a number that no other has. The results: it is done, steps and all, and the memory of parameters that nobody
  // else holds may have served. Nothing: its steps are to be asked for, and remember() then takes what came of them.
  virtual std::optional<Backend::Slots> repeat(std::int64_t program, Backend::Slots& params, std::string_view name, Where where) {
    (void)program, (void)params, (void)name, (void)where;
    return std::nullopt;
  }
  virtual void remember(const Backend::Slots& results) { (void)results; }
  // Data that exchange() has sent to other processes beside the transport, by process.
  struct Sent {
    std::int64_t bytes = 0, messages = 0;
  };
  virtual std::map<int, Sent> sent() const = 0;
  // While a step's Report is called: as part of what the device did it, "" for by itself.
  virtual std::string_view reported_how() const = 0;
};

// nullptr: it is none.
inline LaunchAware* aware_of(Backend& backend) { return dynamic_cast<LaunchAware*>(&backend); }

}  // namespace shardlab
