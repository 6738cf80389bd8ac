#include "scenarios/document/host_statements.h"

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

Step read_barrier(const Node& statement, const Document&) {
  auto name = statement.find("name");
  return BarrierStep{name ? name->string() : std::string()};
}

Step read_send(const Node& statement, const Document& document) { return SendStep{peer_of(statement, document), tag_of(statement)}; }

Step read_receive(const Node& statement, const Document& document) {
  auto dtype = statement.find("dtype");
  TensorType type{dtype ? read_dtype(*dtype) : DType::kFloat32, statement.at("shape").integers(0)};
  return ReceiveStep{peer_of(statement, document), tag_of(statement), std::move(type)};
}

Step read_wait(const Node& statement, const Document&) {
  WaitStep step;
  step.issuers = statement.at("args").strings();
  return step;
}

}  // namespace shardlab::scenarios
