#include "runtime/exec/array.h"

#include <fmt/format.h>

#include <ostream>
#include <utility>

#include "runtime/comm/digest.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/operand.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/visualize.h"

namespace shardlab {
namespace {

constexpr const char* kNotAddressable =
    "Fetching value for `jax.Array` that spans non-addressable (non process local) devices is not possible. You can use "
    "`jax.experimental.multihost_utils.process_allgather` to print the global array or use `.addressable_shards` method of jax.Array to "
    "inspect the addressable (process local) shards.";

ArrayImpl& checked(const std::shared_ptr<ArrayImpl>& impl) {
  if (!impl) throw_user_error("an empty Array is used; give it a value first");
  return *impl;
}

// The gate of every host-visible read: computed here, and agreed on by all processes.
void await(ArrayImpl& impl, std::string_view what, Where where) {
  if (impl.is_tracer()) throw_tracer_read(impl, what, where);
  check_not_deleted(impl, what, where);
  if (impl.launch) impl.launch->use();
  Context& context = Context::current();
  comm::Ns begin = comm::now_ns();
  try {
    context.control().await_agreement(impl.agreement, what, where);
  } catch (const comm::DiagnosisError&) {
    // What failed here says more than that this process failed. Everything ends soon: the verdict stops what waits for others.
    if (impl.launch && context.executor().has_failed()) {
      impl.launch->wait();
      if (impl.launch->failure() && !impl.launch->failure()->is_transport()) impl.wait_ready(what, where);
    }
    throw;
  }
  try {
    impl.wait_ready(what, where);
  } catch (const TransportError&) {
    // The launch could not run because of the others: the verdict says why.
    context.control().await_verdict(what, where);
    throw;
  }
  context.observer().on_host_read(what, where, begin, comm::now_ns());
}

// Mesh positions of this process whose boxes together are the whole array; nothing where they are not.
bool is_covered(const ArrayImpl& impl, const std::vector<Box>& boxes, std::vector<int>& positions) {
  Context& context = Context::current();
  std::int64_t covered = 0;
  std::vector<int> replicas = replica_ids(boxes);
  std::vector<const Box*> taken;
  for (std::size_t p = 0; p < boxes.size(); ++p) {
    if (!context.is_local(impl.sharding.mesh().devices()[p])) continue;
    bool repeated = false;
    for (const Box* box : taken) repeated |= *box == boxes[p];
    if (repeated) continue;
    taken.push_back(&boxes[p]);
    positions.push_back(int(p));
    covered += element_count(boxes[p]);
  }
  return !positions.empty() && covered == impl.type.elements();
}

// Throws JAX's error where this process lacks a part.
std::vector<int> covering_positions(const ArrayImpl& impl, const std::vector<Box>& boxes, Where where) {
  std::vector<int> positions;
  if (!is_covered(impl, boxes, positions))
    throw_user_error("{} [{}; {} with {}]", kNotAddressable, where.text(), impl.type.text(), impl.sharding.text());
  return positions;
}

}  // namespace

LaunchState::~LaunchState() {
  if (unused_ && !used_ && finished() && !failure_) unused_->note(program_->name, where_);
}

void LaunchState::finish(std::shared_ptr<LaunchFailure> failure) {
  {
    std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
    finished_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

void LaunchState::wait() {
  if (finished()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished(); });
}

void ArrayImpl::wait_ready(std::string_view what, Where use) {
  if (!launch) return;
  launch->wait();
  if (launch->failure()) launch->failure()->raise(what, use, where);
}

void ArrayImpl::tell_end(bool donated) {
  if (observer) std::exchange(observer, nullptr)->on_array_end(id, donated);
}

void throw_tracer_read(const ArrayImpl& impl, std::string_view what, Where where) {
  throw_user_error(
      "{} at {}: Abstract tracer value encountered where concrete value is expected: traced array with shape {}. The value is traced by "
      "jit, it has a type but no data yet; return it from the function and read it outside, or choose by where or cond inside",
      what, where.text(), impl.type.text());
}

void check_not_deleted(const ArrayImpl& impl, std::string_view what, Where where) {
  if (!impl.deleted) return;
  throw_user_error(
      "Array has been deleted with shape={}. {} at {}: its memory was donated to a jitted function; use that function's result, or do not "
      "donate the argument",
      impl.type.text(), what, where.text());
}

const TensorType& Array::type() const { return checked(impl_).type; }

const Sharding& Array::sharding() const {
  if (checked(impl_).is_tracer()) throw_tracer_read(*impl_, "sharding", {});
  return impl_->sharding;
}

bool Array::committed() const { return checked(impl_).committed; }

bool Array::is_fully_addressable() const {
  Context& context = Context::current();
  for (int device : sharding().mesh().devices())
    if (!context.is_local(device)) return false;
  return true;
}

bool Array::is_fully_replicated() const { return sharding().is_fully_replicated(); }

std::vector<Shard> Array::addressable_shards(std::source_location where) const {
  return shards_at(Where::from(where), "addressable_shards");
}

Array Array::addressable_data(std::size_t index, std::source_location where) const {
  const std::vector<Shard> shards = addressable_shards(where);
  if (index >= shards.size())
    throw_user_error("addressable_data at {}: index {} is out of range, the array has {} addressable shards", Where::from(where).text(),
                     index, shards.size());
  const Shard& shard = shards[index];
  const Array on_host = array_from_host(shard.type, {shard.data->as<std::byte>(), shard.data->size()});
  return device_put(Operand(on_host, where), shard.device);
}
std::vector<Shard> Array::shards_at(Where where, std::string_view what) const {
  ArrayImpl& impl = checked(impl_);
  await(impl, what, where);
  Context& context = Context::current();
  std::vector<Box> boxes = impl.sharding.boxes(impl.type.shape);
  std::vector<int> replicas = replica_ids(boxes);
  std::vector<Shard> shards;
  Backend& backend = context.backend_of(impl.sharding.mesh());
  for (std::size_t p = 0; p < boxes.size(); ++p) {
    int ordinal = impl.sharding.mesh().devices()[p];
    if (!context.is_local(ordinal)) continue;
    shards.push_back(
        {context.device(ordinal), boxes[p], replicas[p], {impl.type.dtype, shape_of(boxes[p])}, backend.to_host(impl.shards[p])});
  }
  return shards;
}

std::vector<std::pair<int, Box>> Array::devices_indices_map() const {
  const auto& devices = sharding().mesh().devices();
  std::vector<Box> boxes = sharding().boxes(shape());
  std::vector<std::pair<int, Box>> map;
  for (std::size_t p = 0; p < boxes.size(); ++p) map.emplace_back(devices[p], std::move(boxes[p]));
  return map;
}

void Array::check_fetchable(Where where) const {
  ArrayImpl& impl = checked(impl_);
  if (impl.is_tracer()) throw_tracer_read(impl, "fetch", where);
  covering_positions(impl, impl.sharding.boxes(impl.type.shape), where);
}

Buffer Array::fetch(std::source_location where) const { return fetch_at(Where::from(where), "fetch"); }

Buffer Array::fetch_at(Where where, std::string_view what) const {
  ArrayImpl& impl = checked(impl_);
  if (impl.is_tracer()) throw_tracer_read(impl, what, where);
  std::vector<Box> boxes = impl.sharding.boxes(impl.type.shape);
  std::vector<int> positions = covering_positions(impl, boxes, where);
  await(impl, what, where);
  Buffer whole_value{std::size_t(impl.type.bytes())};
  Box all = whole(impl.type.shape);
  Backend& backend = Context::current().backend_of(impl.sharding.mesh());
  for (int p : positions)
    copy_box(backend.to_host(impl.shards[std::size_t(p)])->data(), boxes[std::size_t(p)], whole_value.data(), all, boxes[std::size_t(p)],
             size_of(impl.type.dtype));
  // Where processes disagree later it may be because they have seen different numbers.
  if (Context& context = Context::current(); context.process_count() > 1 && impl.type.elements() == 1)
    context.control().observed("fetched value", comm::digest_of(impl.type, {whole_value.data(), whole_value.size()}).head.at(0), where);
  return whole_value;
}

void Array::block_until_ready(std::source_location where) const { wait_at(Where::from(where), "block_until_ready"); }

void Array::wait_at(Where where, std::string_view what) const {
  ArrayImpl& impl = checked(impl_);
  await(impl, what, where);
  Context::current().backend_of(impl.sharding.mesh()).synchronize();
}

Array Array::reshape(const Shape& shape, std::source_location where) const {
  return apply("reshape", {Operand(*this, Where::from(where))}, Attrs{{"shape", shape}}, Where::from(where)).at(0);
}

Array Array::astype(DType dtype, std::source_location where) const {
  return apply("astype", {Operand(*this, Where::from(where))}, Attrs{{"dtype", dtype}}, Where::from(where)).at(0);
}

Array Array::T(std::source_location where) const {
  return apply("transpose", {Operand(*this, Where::from(where))}, {}, Where::from(where)).at(0);
}

std::string Array::text(std::source_location where) const { return text_at(Where::from(where)); }

std::string Array::text_at(Where where) const {
  ArrayImpl& impl = checked(impl_);
  if (impl.is_tracer()) return fmt::format("Traced<{}{}>", impl.weak ? "~" : "", impl.type.text());
  std::vector<int> positions;
  if (!is_covered(impl, impl.sharding.boxes(impl.type.shape), positions))
    return fmt::format("Array(shape={}, dtype={}{})", text_of(impl.type.shape), name_of(impl.type.dtype),
                       impl.weak ? ", weak_type=True" : "");
  return numpy_text(impl.type, fetch_at(where, "print").data());
}

std::string Shard::text() const { return numpy_text(type, data->data()); }

Array Array::named(std::string_view name) const {
  if (!checked(impl_).is_tracer()) Context::current().record_array(*impl_, name);
  return *this;
}

// An operator cannot know its caller's line: the read is placed where the array was made.
std::ostream& operator<<(std::ostream& out, const Array& array) { return out << array.text_at(checked(array.impl()).where); }

// While 64-bit types are off, data of one becomes an array of the 32-bit one, silently as in JAX.
Array array_from_host(const TensorType& type, std::span<const std::byte> data) {
  SL_CHECK(std::int64_t(data.size()) == type.bytes(), "{} bytes for {}", data.size(), type.text());
  TensorType made{canonical(type.dtype, Context::current().config().enable_x64), type.shape};
  auto buffer = std::make_shared<Buffer>(std::size_t(made.bytes()));
  if (made == type)
    std::copy(data.begin(), data.end(), buffer->data());
  else
    convert_elements(type.dtype, data.data(), made.dtype, buffer->data(), type.elements());
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = std::move(made);
  impl->sharding = Sharding::on_device(Context::current().default_device());
  impl->shards = Context::current().placed({std::move(buffer)}, impl->sharding.mesh());
  impl->id = Context::current().new_array_id();
  return Array(std::move(impl));
}

}  // namespace shardlab
