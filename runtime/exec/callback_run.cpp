// Runs host callbacks: one call for each device, and for each element of a batch.
#include <fmt/format.h>

#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/graph/host_callback.h"

namespace shardlab {
namespace {

struct Callback {
  const Node& node;
  const HostCallback& call;
  std::vector<TensorType> results;  // of one call
  std::int64_t calls = 1;           // for the elements of a batch, which are along the operands' and results' first dimensions
};

Callback callback_at(const Node& node, const Graph& graph) {
  Callback callback{node, *callback_of(node), {}};
  const bool is_sequential = node.attrs.string("method").starts_with("sequential");
  const auto& batches = node.attrs.integers("batches");
  if (is_sequential)
    for (std::int64_t size : batches) callback.calls *= size;
  for (std::size_t i = 0; i < node.attrs.strings("dtypes").size(); ++i) {
    TensorType type = graph.type(node.results[i]);
    if (is_sequential) type.shape.erase(type.shape.begin(), type.shape.begin() + std::ptrdiff_t(batches.size()));
    callback.results.push_back(std::move(type));
  }
  return callback;
}

// A result as the user said it would be; values of 64 bits become those of 32 that were declared, as numpy's do in JAX.
BufferRef as_declared(const Literal& given, const TensorType& declared, std::size_t index) {
  if (given.type.shape != declared.shape)
    throw_user_error("Incorrect output shape for return value #{}: Expected: {}, Actual: {}", index, text_of(declared.shape),
                     text_of(given.type.shape));
  if (given.type.dtype == declared.dtype) return given.data;
  if (canonical(given.type.dtype, false) != declared.dtype)
    throw_user_error("Incorrect output dtype for return value #{}: Expected: {}, Actual: {}", index, name_of(declared.dtype),
                     name_of(given.type.dtype));
  auto data = std::make_shared<Buffer>(std::size_t(declared.bytes()));
  convert_elements(given.type.dtype, given.data->data(), declared.dtype, data->data(), declared.elements());
  return data;
}

std::vector<BufferRef> called_once(const Callback& callback, const std::vector<Literal>& operands) {
  const std::vector<Literal> given = callback.call(operands);
  if (given.size() != callback.results.size())
    throw_user_error("Mismatched number of outputs from callback. Expected: {}, Actual: {}", callback.results.size(), given.size());
  std::vector<BufferRef> results;
  for (std::size_t i = 0; i < given.size(); ++i) results.push_back(as_declared(given[i], callback.results[i], i));
  return results;
}

Literal element_of(const Literal& batch, std::size_t dims, std::int64_t calls, std::int64_t number) {
  TensorType type = batch.type;
  type.shape.erase(type.shape.begin(), type.shape.begin() + std::ptrdiff_t(dims));
  const std::size_t bytes = batch.data->size() / std::size_t(calls);
  auto data = std::make_shared<Buffer>(bytes);
  std::copy_n(batch.data->data() + bytes * std::size_t(number), bytes, data->data());
  return {type, data};
}

// The results of all calls, one after another.
std::vector<BufferRef> called(const Callback& callback, const std::vector<Literal>& operands) {
  const std::size_t dims = callback.node.attrs.integers("batches").size();
  if (dims == 0 || !callback.node.attrs.string("method").starts_with("sequential")) return called_once(callback, operands);
  std::vector<std::shared_ptr<Buffer>> all;
  for (const TensorType& type : callback.results) all.push_back(std::make_shared<Buffer>(std::size_t(type.bytes() * callback.calls)));
  for (std::int64_t number = 0; number < callback.calls; ++number) {
    std::vector<Literal> elements;
    for (const Literal& each : operands) elements.push_back(element_of(each, dims, callback.calls, number));
    const std::vector<BufferRef> results = called_once(callback, elements);
    for (std::size_t i = 0; i < results.size(); ++i)
      std::copy_n(results[i]->data(), results[i]->size(), all[i]->data() + results[i]->size() * std::size_t(number));
  }
  return {all.begin(), all.end()};
}

// A failure of the user's function, with the line that asked for it.
std::vector<BufferRef> called_for_user(const Callback& callback, const std::vector<Literal>& operands) {
  const auto fail = [&](std::string_view what) {
    throw_user_error("CpuCallback error calling callback: {} [{} at {}]", what, callback.node.op->name, callback.node.where.text());
  };
  std::vector<BufferRef> results;
  try {
    results = called(callback, operands);
  } catch (const std::exception& error) { fail(error.what()); } catch (...) {
    fail("it threw something that is no std::exception");
  }
  return results;
}

}  // namespace

void Executor::run_callback(const Task& task, const Executable& executable, const Executable::Compute& step, Slots& slots,
                            const Scope& scope) {
  Backend& backend = *executable.backend;
  const std::vector<int>& devices = executable.program.mesh.devices();
  const Callback callback = callback_at(*step.node, executable.program.graph);
  const Attrs& attrs = step.node->attrs;
  const comm::Ns begin = comm::now_ns();
  for (int slot : step.results) slots[std::size_t(slot)].resize(devices.size());
  for (int position : *scope.active) {
    const auto at = std::size_t(position);
    std::vector<BufferRef> results;
    if (!attrs.flag("first") || position == 0) {
      std::vector<Literal> operands;
      for (int slot : step.operands)
        operands.push_back(
            {{executable.program.slots[std::size_t(slot)].type.dtype, shape_of(executable.slot_boxes[std::size_t(slot)][at])},
             backend.to_host(slots[std::size_t(slot)][at])});
      results = called_for_user(callback, operands);
    }
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      BufferRef& result = slots[std::size_t(step.results[i])][at];
      if (attrs.flag("partitioned")) {
        result = slots[std::size_t(step.operands[i])][at];
      } else if (i < results.size()) {
        result = backend.upload(results[i], devices[at]);
      } else {  // what another device gives, or what stands for the effect
        const auto& type = executable.program.slots[std::size_t(step.results[i])].type;
        auto zeros = backend.allocate(std::size_t(type.bytes()), devices[at]);
        backend.clear(*zeros);
        result = zeros;
      }
    }
  }
  if (const Backend::Report told = report(task, step.node->op->name, step.node->where)) told(begin, comm::now_ns());
}

}  // namespace shardlab
