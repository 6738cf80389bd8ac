// Reads the statements between processes: barrier, send, recv, wait, and the body of another issuer.
#pragma once

#include "scenarios/document/document.h"
#include "scenarios/document/node.h"

namespace shardlab::scenarios {

inline constexpr std::string_view kBarrierKeys[] = {"name"};
inline constexpr std::string_view kSendKeys[] = {"peer", "tag"};
inline constexpr std::string_view kReceiveKeys[] = {"peer", "tag", "shape", "dtype"};

Step read_barrier(const Node& statement, const Document& document);
Step read_send(const Node& statement, const Document& document);
Step read_receive(const Node& statement, const Document& document);
// "wait": `args` are names of issuers.
Step read_wait(const Node& statement, const Document& document);

}  // namespace shardlab::scenarios
