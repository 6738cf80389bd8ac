// The seam between the executor and what computes: how one kind of device keeps buffers, computes steps and moves data.
//
// The executor walks a program's steps in lockstep over the local devices and asks their backend for each; plans of moves say which
// boxes go where and ask it to copy and combine. A backend may return before the work is done, as long as whatever it is asked later
// sees it as done: to_host() and synchronize() alone wait.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/launch.h"
#include "runtime/comm/transport.h"
#include "runtime/core/buffer.h"
#include "runtime/exec/fused_kinds.h"
#include "runtime/graph/op_def.h"

namespace shardlab {

struct ComputeCall;  // runtime/exec/compute.h
struct FusedStep;    // runtime/exec/fuse.h

// What a move over processes needs beside its data.
struct LinkContext {
  class Backend* backend = nullptr;
  comm::Transport* transport = nullptr;
  comm::MessageHeader header;
  std::function<void(const std::vector<int>&)> on_wait;
};

// What the bytes of a backend's Buffer are is its own affair: elements on a CPU, a handle of memory on a GPU, which goes with the last
// reference. So nobody else reads them: of an array's shards to_host() gives the elements.
//
// Thread rules: one thread at a time runs steps and moves, inside of which parallel_for() may call copy_box() and combine() from
// several; where runs_launches_beside(), one thread a launch, several at a time. allocate(), place() and to_host() come from any thread.
class Backend {
 public:
  using Slots = std::vector<std::vector<BufferRef>>;  // per slot and mesh position

  virtual ~Backend() = default;
  virtual std::string_view platform() const = 0;  // "cpu", "gpu", as Device::platform
  virtual std::string kind() const = 0;           // "cpu", "NVIDIA H200", as Device::kind
  virtual bool runs_launches_beside() const = 0;

  // Devices with equal numbers share their buffers.
  virtual int memory_of(int ordinal) const = 0;
  virtual std::shared_ptr<Buffer> allocate(std::size_t bytes, int ordinal) = 0;  // uninitialised
  // The same elements in the device's memory: the buffer itself where it is there. From this process's memory, and from a device's.
  virtual BufferRef upload(const BufferRef& host, int ordinal) = 0;
  virtual BufferRef place(const BufferRef& buffer, int ordinal) = 0;
  // The elements in this process's memory, once they are made. Throws what making them failed with.
  virtual BufferRef to_host(const BufferRef& buffer) = 0;
  virtual std::size_t bytes_of(const Buffer& buffer) const = 0;  // of the elements

  // Data on the devices. Offsets are in bytes; boxes are global indices of what a side holds, `box` lies in both.
  virtual void clear(Buffer& buffer) = 0;
  virtual void copy_bytes(const Buffer& from, std::size_t from_offset, Buffer& to, std::size_t to_offset, std::size_t bytes) = 0;
  virtual void copy_box(const Buffer& from, std::size_t from_offset, const Box& from_box, Buffer& to, const Box& to_box, const Box& box,
                        std::int64_t element_bytes) = 0;
  // The same of several sources, whose parts of the target share no element: in any order.
  struct BoxCopy {
    const Buffer* from;
    std::size_t from_offset;
    const Box *from_box, *box;
  };
  virtual void copy_boxes(std::span<const BoxCopy> copies, Buffer& to, const Box& to_box, std::int64_t element_bytes);
  // Some of a buffer's bytes as exchange() takes them; `kept` owns what had to be made for that.
  virtual std::span<const std::byte> part(const BufferRef& buffer, std::size_t offset, std::size_t bytes, int ordinal,
                                          std::vector<BufferRef>& kept);
  // Elements of a buffer, from a byte on.
  struct Stretch {
    BufferRef buffer;
    std::size_t offset = 0;
  };
  // The values, `count` elements each, combined by the balanced tree of tree_split(), on the device. At least one.
  virtual BufferRef combine(Reduction reduction, DType dtype, std::span<const Stretch> values, std::int64_t count, int ordinal) = 0;
  // Runs f(0) … f(count - 1), each of about `bytes_each` bytes of copies.
  virtual void parallel_for(std::int64_t count, std::int64_t bytes_each, const std::function<void(std::int64_t)>& f) = 0;
  // Transport::exchange() between the devices: each part is a whole Buffer's bytes(), or of part().
  virtual comm::ExchangeResult exchange(const LinkContext& link, std::span<const comm::Send> sends,
                                        std::span<const comm::Receive> receives) = 0;

  // Steps. `ordinals`: of each mesh position.
  // Whether compute() takes products with what follows them (epilogue.h), on this process's devices among these.
  virtual bool does_epilogues(const std::vector<int>&) const { return false; }
  virtual FusedKinds fuses() const { return {}; }
  virtual void compute(ComputeCall& call, const std::vector<int>& ordinals) = 0;
  virtual void run_fused(const FusedStep& step, const std::vector<int>& local, const std::vector<std::vector<Box>>& slot_boxes,
                         Slots& slots, const std::vector<int>& ordinals) = 0;

  // Told before and after each step: whose work the following calls of the thread are, so that a failure and a time are those of an op
  // and a line. `report` gets the step's begin and end, perhaps later, and is empty where nobody records.
  using Report = std::function<void(comm::Ns begin, comm::Ns end)>;
  struct Step {
    std::string_view op;
    Where where;
    Report report;
    comm::Ns begin_ns = 0;  // the backend's
  };
  virtual void begin_step(Step& step) = 0;
  virtual void end_step(Step& step) = 0;
  // Waits until all work is done; every report has been made. Throws what it failed with.
  virtual void synchronize() = 0;
};

// The shards of an array, made in this process's memory, where their devices have them; absent ones stay absent.
std::vector<BufferRef> placed(Backend& backend, std::vector<BufferRef> shards, const std::vector<int>& ordinals);

// Where the balanced tree over `count` members splits: pairs of neighbours are combined level by level.
int tree_split(int count);

}  // namespace shardlab
