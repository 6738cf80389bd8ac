// The GPU as this project sees it: what is called of the CUDA runtime, its libraries and NCCL, in our own words, so that it can be built
// without CUDA's headers and stood in for by tests. cuda_api.cpp is the real one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/core/dtype.h"
#include "runtime/exec/epilogue.h"

namespace shardlab::cuda {

// A call that failed: what was called, its error, and, where the failure is an earlier step's, that step.
class GpuError : public IoError {
 public:
  using IoError::IoError;
};

class OutOfGpuMemory : public GpuError {
 public:
  using GpuError::GpuError;
};

// Work that a graph cannot do; nothing of it has begun.
class NoGraph : public GpuError {
 public:
  using GpuError::GpuError;
};

// A failure of NCCL, which is another process's as a rule.
class NcclError : public GpuError {
 public:
  using GpuError::GpuError;
};

// Handles; 0 is none.
enum class Stream : std::uintptr_t {};
enum class Event : std::uintptr_t {};
enum class Kernel : std::uintptr_t {};
enum class Communicator : std::uintptr_t {};
enum class Graph : std::uintptr_t {};

struct GpuInfo {
  std::string name;  // "NVIDIA H200"
  int arch = 0;      // 90 for compute capability 9.0
  int processors = 1;
  std::size_t memory_bytes = 0;
  std::string uuid;  // of no other GPU, whatever process sees it
};

// One GPU of this process as a member of a communicator.
struct CommunicatorMember {
  int rank = 0, gpu = 0;
};

// c[b, m, n] = sum over k of a[b, m, k] * b[b, k, n]; strides in elements; the result is dense. One of m and k, and of k and n, is 1 apart.
// With what follows it (Epilogue).
struct MatrixProduct {
  struct Matrices {
    const std::byte *left, *right;
    std::byte* result;
    bool operator==(const Matrices&) const = default;
  };
  DType dtype;
  std::int64_t batch, m, n, k;
  std::int64_t left_batch, left_m, left_k, right_batch, right_k, right_n;
  const std::byte *left, *right;
  std::byte* result;
  double scale = 1;
  const std::byte* bias = nullptr;    // n elements; nullptr: none
  const std::byte* addend = nullptr;  // as the result; nullptr: none. Not with a bias
  Epilogue::Activation activation = Epilogue::Activation::kNone;
  bool is_beside = false;  // others, of other devices, may be done at once
  int processors = 0;      // to count with; 0: all of the GPU's
  // It is done as one of so many equal ones, of as many devices, in one call would be, that values do not hang on whether they are. 0: by
  // itself. Neither a batch nor anything that follows it then, but a scale.
  int together = 0;
  std::vector<Matrices> others = {};  // of the same call, which is of `together` products then; in graphs alone
  bool operator==(const MatrixProduct&) const = default;
};

// `rows` transforms of contiguous rows, as ops::FftRows; not scaled.
struct RowTransforms {
  int kind;  // ops::FftKind
  bool is_double;
  std::int64_t length, rows;
  const std::byte* from;
  std::byte* to;
  bool operator==(const RowTransforms&) const = default;
};

// Places (int32) put in the order of their words: unsigned numbers of `word_bytes`, ascending by their lowest `bits`; equal ones keep their
// order. What is read stays as it is.
struct PlaceSort {
  std::int64_t count = 0;
  int word_bytes = 4;  // or 8
  int bits = 32;
  const std::byte *words = nullptr, *places = nullptr;
  std::byte *sorted_words = nullptr, *sorted_places = nullptr;
  std::byte* room = nullptr;  // to work in: as many bytes as sort_room() says
  std::size_t room_bytes = 0;
  bool operator==(const PlaceSort&) const = default;
};

// What a graph is made of: calls of GpuApi that are a stream's work, with their arguments.
struct KernelWork {
  Kernel kernel{};
  unsigned grid = 1, block = 1;
  bool has_barriers = false;
  std::vector<std::byte> arguments;
  unsigned instances = 1;  // as many times, each with its part of the arguments (KernelText::instances), which may be fewer than these
  bool operator==(const KernelWork&) const = default;
};
struct CopyWork {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  bool operator==(const CopyWork&) const = default;
};
struct FillWork {
  std::byte* to = nullptr;
  int byte = 0;
  std::size_t bytes = 0;
  bool operator==(const FillWork&) const = default;
};
struct RecordWork {
  Event event{};
  bool operator==(const RecordWork&) const = default;
};
// What follows, up to the next of these, is a task: in a graph it comes behind the tasks that wrote what it reads or writes, or read what
// it writes, and behind no others. One without places ends the task before: what is in none comes behind all before it, and before all
// behind it; so does a record.
struct TaskWork {
  std::vector<const std::byte*> places;  // beginnings of allocations
  std::size_t reads = 0;                 // as many of them, the first, are read alone
  bool is_unordered = false;             // its work may be done in any order, and at once
  bool operator==(const TaskWork&) const = default;
};
using Work = std::variant<KernelWork, CopyWork, FillWork, MatrixProduct, RowTransforms, PlaceSort, RecordWork, TaskWork>;

// All calls may come from any thread. Work on one stream is done in order; work on different ones is ordered by events alone. Throws
// GpuError.
class GpuApi {
 public:
  virtual ~GpuApi() = default;
  virtual int gpu_count() = 0;
  virtual GpuInfo info(int gpu) = 0;

  virtual Stream create_stream(int gpu) = 0;
  virtual void destroy(Stream stream) noexcept = 0;
  virtual Event create_event(int gpu, bool is_timed) = 0;
  virtual void destroy(Event event) noexcept = 0;
  virtual void record(Event event, Stream stream) = 0;
  virtual void wait(Stream stream, Event event) = 0;
  virtual bool is_done(Event event) = 0;
  virtual void synchronize(Event event) = 0;
  virtual double milliseconds_between(Event begin, Event end) = 0;

  // A word in pinned memory becomes `value` when the stream gets there. It tells how far a GPU came that failed: then every call fails,
  // what an event says too. Where the driver cannot do it, nothing is done.
  virtual void set_word(std::byte* word, std::uint32_t value, Stream stream) = 0;

  // Ordered with the work of the stream.
  virtual std::byte* allocate(std::size_t bytes, Stream stream) = 0;
  virtual void release(std::byte* data, Stream stream) noexcept = 0;
  // Memory that was allocated, by which take() finds it again, and those of it that it takes. nullptr: it cannot.
  virtual std::shared_ptr<const void> note_memory(std::span<std::byte* const> all, std::span<std::byte* const> taken, Stream stream) = 0;
  // Whether all that the note names is released and belongs to nobody; then it allocates what is to be taken.
  virtual bool take(const void* note) = 0;
  // Of this process, at which GPUs copy at full speed.
  virtual std::byte* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(std::byte* data) noexcept = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) = 0;
  virtual void fill(std::byte* to, int byte, std::size_t bytes, Stream stream) = 0;

  // What compile() made, on a GPU; `name`: of its kernel. It may be captured from then on.
  virtual Kernel load(int gpu, const std::string& binary, const std::string& name) = 0;
  virtual void launch(Kernel kernel, unsigned grid, unsigned block, bool has_barriers, std::span<const std::byte> arguments,
                      Stream stream) = 0;
  // Whether the library has a way to do a product, with what follows it. It has none of one whose `k` is 0.
  virtual bool has_product(int gpu, const MatrixProduct& product) = 0;
  virtual void multiply(int gpu, const MatrixProduct& product, Stream stream) = 0;
  virtual void transform(int gpu, const RowTransforms& transforms, Stream stream) = 0;

  // Whether a library sorts; how much room a sort takes there; and the sort.
  virtual bool has_sorts() = 0;
  virtual std::size_t sort_room(int gpu, const PlaceSort& sort) = 0;
  virtual void sort(const PlaceSort& sort, Stream stream) = 0;

  // Of what graphs are made of; calls of a stream are done in order.
  virtual void begin_task(TaskWork task, Stream stream) = 0;
  // A graph does its work, in the order of its tasks (tasks_of() in graph_tasks.h), each time that it is launched. Libraries that
  // it uses must have been used before. Throws NoGraph where there is none.
  virtual Graph make_graph(int gpu, std::span<const Work> work) = 0;
  // The same kinds of work with other arguments, from the next launch on; false: it cannot be changed so, and is as it was.
  virtual bool update(Graph graph, std::span<const Work> work) = 0;
  virtual void launch(Graph graph, Stream stream) = 0;
  virtual void destroy(Graph graph) noexcept = 0;

  // NCCL, without waiting for anybody: a communicator is used, and used again, once is_ready(). Sends and receives are made between
  // group_start() and group_end(), and are a stream's work like any other.
  virtual int nccl_version() = 0;  // 22809 for 2.28.9; 0: it is not there
  // Made by one member and told to the others.
  virtual std::string new_communicator_id() = 0;
  virtual std::vector<Communicator> join(const std::string& id, std::span<const CommunicatorMember> own, int size) = 0;
  // Whether what was asked of it before has been taken in. Throws what went wrong in it meanwhile.
  virtual bool is_ready(Communicator communicator) = 0;
  virtual void group_start() = 0;
  virtual void group_end() = 0;
  virtual void send(const std::byte* data, std::size_t bytes, int to, Communicator communicator, Stream stream) = 0;
  virtual void receive(std::byte* data, std::size_t bytes, int from, Communicator communicator, Stream stream) = 0;
  // The end of a communicator: finish() begins to see off what was sent, and when is_ready() it is destroyed; or abort(), at any time,
  // which ends the work of its streams that waits for others.
  virtual void finish(Communicator communicator) = 0;
  virtual void destroy(Communicator communicator) noexcept = 0;
  virtual void abort(Communicator communicator) noexcept = 0;

  // Named stretches for profilers.
  virtual void push_range(const std::string& name) = 0;
  virtual void pop_range() = 0;
};

// Makes kernels' text into code for one architecture.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  virtual std::string version() const = 0;
  // UserError with the compiler's words.
  virtual std::string compile(const std::string& text, int arch) = 0;
};

// The real ones. UserError where a library is missing.
std::shared_ptr<GpuApi> cuda_api();
// `is_strict`: a warning is a failure, as the tests want it.
std::shared_ptr<KernelCompiler> nvrtc_compiler(bool is_strict = false);

}  // namespace shardlab::cuda
