#include "scenarios/document/host_statements.h"

#include <algorithm>

#include "scenarios/document/region_statements.h"
#include "scenarios/document/statements.h"
#include "scenarios/document/values.h"

namespace shardlab::scenarios {
namespace {

constexpr std::int64_t kTagMax = INT32_MAX;

std::int64_t tag_of(const Node& statement) {
  auto tag = statement.find("tag");
  return tag ? tag->integer(0, kTagMax) : 0;
}

int peer_of(const Node& statement, const Document& document) {
  return int(statement.at("peer").integer(0, document.cluster.processes - 1));
}

}  // namespace

Step read_barrier(const Node& statement, const Document& document) {
  auto name = statement.find("name");
  BarrierStep step{name ? name->string() : std::string(), {}};
  if (auto processes = statement.find("processes")) {
    for (const Node& item : processes->items()) step.processes.push_back(int(item.integer(0, document.cluster.processes - 1)));
    std::sort(step.processes.begin(), step.processes.end());
    step.processes.erase(std::unique(step.processes.begin(), step.processes.end()), step.processes.end());
    if (step.processes.empty()) processes->wanted("at least one process");
  }
  return step;
}

Step read_send(const Node& statement, const Document& document) { return SendStep{peer_of(statement, document), tag_of(statement)}; }

Step read_receive(const Node& statement, const Document& document) {
  auto dtype = statement.find("dtype");
  TensorType type{dtype ? read_dtype(*dtype) : DType::kFloat32, statement.at("shape").integers(0)};
  return ReceiveStep{peer_of(statement, document), tag_of(statement), std::move(type)};
}

Step read_wait(const Node& statement, const Document&) {
  WaitStep step;
  step.names = statement.at("args").strings();
  return step;
}

Step read_broadcast(const Node& statement, const Document& document) {
  auto root = statement.find("root");
  return BroadcastStep{root ? int(root->integer(0, document.cluster.processes - 1)) : 0};
}

Step read_assert_equal(const Node& statement, const Document&) {
  auto message = statement.find("message");
  return AssertEqualStep{message ? message->string() : std::string()};
}

Step read_process_data(const Node& statement, const Document& document) {
  ProcessDataStep step{read_sharding(statement.at("sharding"), document), {}, std::nullopt};
  Node data = statement.at("data");
  if (data.is_list()) {
    for (const Node& each : data.items()) step.data.push_back(read_argument(each, document));
    if (step.data.size() != std::size_t(document.cluster.processes))
      data.fail(fmt::format("the data of {} processes for {}", step.data.size(), document.cluster.processes));
  } else {
    step.data.push_back(read_argument(data, document));
  }
  if (auto shape = statement.find("global_shape")) step.global_shape = shape->integers(0);
  return step;
}

Step read_device_data(const Node& statement, const Document& document) {
  DeviceDataStep step{statement.at("shape").integers(0), read_sharding(statement.at("sharding"), document), std::nullopt};
  if (auto dtype = statement.find("dtype")) step.dtype = read_dtype(*dtype);
  return step;
}

Step read_callback(const Node& statement, const Document& document) {
  Node fn = statement.at("fn");
  const Function& function = function_at(fn, document);
  CallbackStep step{statement.at("shape").integers(0), read_sharding(statement.at("sharding"), document), function.name, std::nullopt};
  if (function.params.size() != step.shape.size() || function.results.size() != 1)
    fn.fail(
        fmt::format("'{}' has {} parameters and {} results; the callback of an array of {} dimensions has one parameter for each, the "
                    "part's first index along it, and one result",
                    function.name, function.params.size(), function.results.size(), step.shape.size()));
  if (auto dtype = statement.find("dtype")) step.dtype = read_dtype(*dtype);
  return step;
}

Step read_allgather(const Node& statement, const Document&) {
  ReadStep step{.gather = true};
  if (auto tiled = statement.find("tiled")) step.tiled = tiled->flag();
  return step;
}

Step started(const Node& node, Step step) {
  if (auto* read = std::get_if<ReadStep>(&step); read != nullptr && read->gather)
    read->waits = false;
  else if (auto* barrier = std::get_if<BarrierStep>(&step))
    barrier->waits = false;
  else if (auto* broadcast = std::get_if<BroadcastStep>(&step))
    broadcast->waits = false;
  else if (read != nullptr || std::holds_alternative<AssertEqualStep>(step) || std::holds_alternative<WaitStep>(step))
    node.fail("nothing is left of it to wait for: it waits itself");
  return step;  // all others never wait
}

}  // namespace shardlab::scenarios
