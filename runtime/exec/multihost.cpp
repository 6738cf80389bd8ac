#include "runtime/exec/multihost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/messages.h"
#include "runtime/exec/movements.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/visualize.h"
#include "runtime/exec/weak_types.h"

namespace shardlab {
namespace {

Array made(TensorType type, Sharding sharding, std::vector<BufferRef> shards, Where where) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = std::move(type);
  impl->sharding = std::move(sharding);
  impl->committed = true;
  impl->shards = Context::current().placed(std::move(shards), impl->sharding.mesh());
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
  return context.executor().submit(movement_program(context, movement), {x}, true, where).at(0);
}

Movement begun(Movement movement, Waits waits) {
  movement.name.is_async = waits == Waits::kLater;
  return movement;
}

// A part for each process, this one's own in its place.
std::vector<BufferRef> parts(BufferRef own) {
  Context& context = Context::current();
  std::vector<BufferRef> shards(std::size_t(context.process_count()));
  shards[std::size_t(context.process_index())] = std::move(own);
  return shards;
}

}  // namespace

Array local_copy(const Array& x, Where where, std::string_view what) { return array_from_host(x.type(), x.fetch_at(where, what).bytes()); }

Array allgather_async(const Operand& operand, bool tiled, Where where, Waits waits) {
  Array x = array_of(operand);
  Context& context = Context::current();
  if (!is_own(x)) {
    Movement movement = begun(allgather_movement(x.type(), x.sharding(), tiled), waits);
    return context.executor().submit(movement_program(context, movement), {x}, true, where).at(0);
  }
  return launch(begun(allgather_movement(x.type(), std::nullopt, tiled), waits), parts(own_data(x, where, "process_allgather")), where);
}

Array replicate_async(const Operand& operand, Where where, Waits waits) {
  Array x = array_of(operand);
  const Sharding whole(x.sharding().mesh(), PartitionSpec());
  Context& context = Context::current();
  if (lies_there(context, x, whole)) return x;
  auto program = placement_program(context, x, whole, waits == Waits::kLater);
  Array everywhere = context.executor().submit(std::move(program), {x}, true, where).at(0);
  set_weak(everywhere, weak_type(x));
  return everywhere;
}

Array broadcast_async(const Operand& operand, int root, Where where, Waits waits) {
  Array x = array_of(operand);
  Context& context = Context::current();
  if (root < 0 || root >= context.process_count())
    throw_user_error("broadcast from process {}: there are {} [{}]", root, context.process_count(), where.text());
  if (!is_own(x))
    throw_user_error("broadcast of {} with {}: it takes what a process has for itself; an array over processes is whole already [{}]",
                     x.type().text(), x.sharding().text(), where.text());
  bool is_root = root == context.process_index();
  return launch(begun(broadcast_movement(x.type(), root), waits), {is_root ? own_data(x, where, "broadcast") : nullptr}, where);
}

Array barrier_async(std::string_view name, Where where, Waits waits, const std::vector<int>& some) {
  auto element = std::make_shared<Buffer>(sizeof(std::int32_t));
  *element->as<std::int32_t>() = 0;
  if (some.empty()) return launch(begun(barrier_movement(name), waits), parts(std::move(element)), where);
  const int self = Context::current().process_index();
  const auto own = std::lower_bound(some.begin(), some.end(), self);
  if (own == some.end() || *own != self)
    throw_user_error("process {} comes to the barrier '{}', which is one of other processes [{}]", self, name, where.text());
  std::vector<BufferRef> shards(some.size());
  shards[std::size_t(own - some.begin())] = std::move(element);
  return launch(begun(barrier_movement(name, some), waits), shards, where);
}

void barrier(std::string_view name, Where where) { barrier_async(name, where).wait_at(where, "barrier"); }

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

void sync_global_devices(std::string_view name, std::source_location location) { barrier(name, Where::from(location)); }

void assert_equal(const Operand& x, std::string_view fail_message, std::source_location where) {
  assert_equal_at(x, fail_message, Where::from(where));
}

}  // namespace multihost_utils

}  // namespace shardlab
