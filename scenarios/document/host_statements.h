// Reads the statements between processes: barriers, messages, broadcasts, waits, and arrays made of what each process has.
#pragma once

#include "scenarios/document/document.h"
#include "scenarios/document/node.h"

namespace shardlab::scenarios {

inline constexpr std::string_view kBarrierKeys[] = {"name", "processes"};
inline constexpr std::string_view kSendKeys[] = {"peer", "tag"};
inline constexpr std::string_view kReceiveKeys[] = {"peer", "tag", "shape", "dtype"};

inline constexpr std::string_view kBroadcastKeys[] = {"root"};
inline constexpr std::string_view kAssertEqualKeys[] = {"message"};
inline constexpr std::string_view kProcessDataKeys[] = {"sharding", "data", "global_shape"};
inline constexpr std::string_view kDeviceDataKeys[] = {"shape", "sharding", "dtype"};
inline constexpr std::string_view kCallbackKeys[] = {"shape", "sharding", "fn", "dtype"};
inline constexpr std::string_view kAllgatherKeys[] = {"tiled"};

Step read_barrier(const Node& statement, const Document& document);
Step read_send(const Node& statement, const Document& document);
Step read_receive(const Node& statement, const Document& document);
// "wait": `args` are names of issuers and of values.
Step read_wait(const Node& statement, const Document& document);
Step read_broadcast(const Node& statement, const Document& document);
Step read_assert_equal(const Node& statement, const Document& document);
Step read_process_data(const Node& statement, const Document& document);
Step read_device_data(const Node& statement, const Document& document);
Step read_callback(const Node& statement, const Document& document);
Step read_allgather(const Node& statement, const Document& document);
// The step that is begun and not waited for; DocumentError where `node`'s is one that makes nothing to wait for.
Step started(const Node& node, Step step);

}  // namespace shardlab::scenarios
