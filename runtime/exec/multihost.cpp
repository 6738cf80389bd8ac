#include "runtime/exec/multihost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/messages.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/transfer.h"
#include "runtime/exec/visualize.h"

namespace shardlab {
namespace {

// What moves, from where to where, under which name.
struct Movement {
  TensorType type;
  Sharding from, to;
  TransferName name;
};

// One device of each process, along "processes".
Mesh mesh_of_processes() {
  Context& context = Context::current();
  std::vector<int> first;
  for (const Device& device : context.devices())
    if (device.local_index == 0) first.push_back(device.ordinal);
  Shape shape{std::int64_t(first.size())};
  return Mesh(std::move(shape), {"processes"}, std::move(first));
}

Array made(TensorType type, Sharding sharding, std::vector<BufferRef> shards, Where where) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = std::move(type);
  impl->sharding = std::move(sharding);
  impl->committed = true;
  impl->shards = std::move(shards);
  impl->id = Context::current().new_array_id();
  impl->where = where;
  return Array(std::move(impl));
}

// A number as an array too; uncommitted, of this process.
Array array_of(const Operand& x) {
  if (x.is_array()) return x.array();
  const Scalar& scalar = x.scalar();
  if (const auto* flag = std::get_if<bool>(&scalar.value)) return array<bool>({*flag}).reshape({});
  if (const auto* integer = std::get_if<std::int64_t>(&scalar.value)) return array<std::int32_t>({std::int32_t(*integer)}).reshape({});
  if (const auto* real = std::get_if<double>(&scalar.value)) return array<float>({float(*real)}).reshape({});
  throw_user_error("a complex number is no array here; make one with array() [{}]", x.where().text());
}

bool is_own(const Array& x) {
  Context& context = Context::current();
  const auto& devices = x.sharding().mesh().devices();
  return std::all_of(devices.begin(), devices.end(), [&](int device) { return context.is_local(device); });
}

// Only what each process has for itself is gathered by process; a job of one process has nothing but that.
BufferRef own_data(const Array& x, Where where, std::string_view what) { return std::make_shared<Buffer>(x.fetch_at(where, what)); }

// The launch of a movement; `own`: this process's part of what is moved, where it has any.
Array launch(const Movement& movement, const std::vector<BufferRef>& own, Where where) {
  Context& context = Context::current();
  Array x = made(movement.type, movement.from, own, where);
  std::string key =
      fmt::format("{} {}{}{}", movement.name.name, movement.name.detail, signature_of(std::vector<Array>{x}), signature_of({movement.to}));
  auto executable = context.programs().find(key);
  if (!executable) {
    executable = compile_transfer(context, movement.type, movement.from, movement.to, false, movement.name);
    context.programs().add(key, executable);
  }
  return context.executor().submit(std::move(executable), {x}, true, where).at(0);
}

// An array over processes, moved as it is.
Array device_put_named(const Array& x, const Sharding& to, const TransferName& name, Where where) {
  Context& context = Context::current();
  auto executable = compile_transfer(context, x.type(), x.sharding(), to, false, name);
  return context.executor().submit(std::move(executable), {x}, true, where).at(0);
}

// A part for each position of the sharding, this process's own at `position`.
std::vector<BufferRef> parts(const Sharding& sharding, int position, BufferRef own) {
  std::vector<BufferRef> shards(std::size_t(sharding.mesh().size()));
  if (position >= 0) shards[std::size_t(position)] = std::move(own);
  return shards;
}

Sharding on_process(const Mesh& processes, int process) { return Sharding::on_device(processes.devices()[std::size_t(process)]); }

// `global`: the sharding of an array over processes; nothing: each process has `type` for itself.
Movement allgather_movement(const TensorType& type, const std::optional<Sharding>& global, bool tiled, const Mesh& processes) {
  Movement movement{type,
                    global.value_or(Sharding(processes, PartitionSpec("processes"))),
                    Sharding(processes, PartitionSpec()),
                    {"process_allgather", "transfer", ""}};
  if (global) return movement;
  if (tiled && type.rank() > 0)
    movement.type.shape[0] *= processes.size();
  else
    movement.type.shape.insert(movement.type.shape.begin(), processes.size());
  return movement;
}

Movement broadcast_movement(const TensorType& type, int root, const Mesh& processes) {
  return {type, on_process(processes, root), Sharding(processes, PartitionSpec()), {"broadcast_one_to_all", "transfer", ""}};
}

// Everybody sends everybody one element: no data, no message, and nobody would wait.
Movement barrier_movement(std::string_view name, const Mesh& processes) {
  return {{DType::kInt32, {processes.size()}},
          Sharding(processes, PartitionSpec("processes")),
          Sharding(processes, PartitionSpec()),
          {"barrier", "barrier", std::string(name)}};
}

}  // namespace

Array local_copy(const Array& x, Where where, std::string_view what) { return array_from_host(x.type(), x.fetch_at(where, what).bytes()); }

Array allgather_async(const Operand& operand, bool tiled, Where where) {
  Array x = array_of(operand);
  Mesh processes = mesh_of_processes();
  if (!is_own(x))
    return device_put_named(x, Sharding(processes, PartitionSpec()), allgather_movement(x.type(), x.sharding(), tiled, processes).name,
                            where);
  Movement movement = allgather_movement(x.type(), std::nullopt, tiled, processes);
  return launch(movement, parts(movement.from, Context::current().process_index(), own_data(x, where, "process_allgather")), where);
}

Array broadcast_async(const Operand& operand, int root, Where where) {
  Array x = array_of(operand);
  Context& context = Context::current();
  if (root < 0 || root >= context.process_count())
    throw_user_error("broadcast from process {}: there are {} [{}]", root, context.process_count(), where.text());
  if (!is_own(x))
    throw_user_error("broadcast of {} with {}: it takes what a process has for itself; an array over processes is whole already [{}]",
                     x.type().text(), x.sharding().text(), where.text());
  bool is_root = root == context.process_index();
  return launch(broadcast_movement(x.type(), root, mesh_of_processes()), {is_root ? own_data(x, where, "broadcast") : nullptr}, where);
}

Array barrier_async(std::string_view name, Where where) {
  Movement movement = barrier_movement(name, mesh_of_processes());
  return launch(movement, parts(movement.from, Context::current().process_index(), std::make_shared<Buffer>(sizeof(std::int32_t))), where);
}

void assert_equal_at(const Operand& operand, std::string_view fail_message, Where where) {
  Array x = array_of(operand);
  if (!is_own(x)) x = local_copy(allgather_async(x, true, where), where, "assert_equal");
  Array all = allgather_async(x, false, where);
  Buffer data = all.fetch_at(where, "assert_equal");
  std::size_t bytes = std::size_t(x.type().bytes());
  for (int p = 1; p < Context::current().process_count(); ++p) {
    const std::byte *first = data.data(), *other = data.data() + std::size_t(p) * bytes;
    if (bytes == 0 || std::memcmp(first, other, bytes) == 0) continue;
    std::size_t at = std::size_t(std::mismatch(first, first + bytes, other).first - first) / std::size_t(size_of(x.dtype()));
    std::string index;
    Shape strides = strides_of(x.shape());
    for (std::size_t d = 0; d < strides.size(); ++d)
      index += fmt::format("{}{}", d > 0 ? ", " : "", std::int64_t(at) / strides[d] % x.shape()[d]);
    throw_user_error("{}{}Expected: {}; got: {}. (process {} differs from process 0, first at [{}]) [{}]", fail_message,
                     fail_message.empty() ? "" : ". ", numpy_text(x.type(), first), numpy_text(x.type(), other), p, index, where.text());
  }
}

void send(const Operand& x, int peer, std::int64_t tag, std::source_location where) { send_to(x, {peer, tag}, Where::from(where)); }

Array recv(const TensorType& type, int peer, std::int64_t tag, std::source_location where) {
  return receive_from(type, {peer, tag}, Where::from(where));
}

namespace multihost_utils {

Array process_allgather(const Operand& x, bool tiled, std::source_location where) {
  return local_copy(allgather_async(x, tiled, Where::from(where)), Where::from(where), "process_allgather");
}

Array broadcast_one_to_all(const Operand& x, std::optional<bool> is_source, std::source_location location) {
  Where where = Where::from(location);
  int root = 0;
  if (is_source) {
    auto flags = local_copy(allgather_async(Operand(*is_source, location), false, where), where, "broadcast_one_to_all");
    Buffer data = flags.fetch_at(where, "broadcast_one_to_all");
    std::vector<int> sources;
    for (int p = 0; p < Context::current().process_count(); ++p)
      if (data.as<bool>()[p]) sources.push_back(p);
    if (sources.size() != 1)
      throw_user_error("broadcast_one_to_all: {} processes say that they are the source, and one must [{}]", sources.size(), where.text());
    root = sources[0];
  }
  return local_copy(broadcast_async(x, root, where), where, "broadcast_one_to_all");
}

void sync_global_devices(std::string_view name, std::source_location location) {
  barrier_async(name, Where::from(location)).block_until_ready(location);
}

void assert_equal(const Operand& x, std::string_view fail_message, std::source_location where) {
  assert_equal_at(x, fail_message, Where::from(where));
}

}  // namespace multihost_utils

}  // namespace shardlab
