// How two processes prove to each other, over a fresh connection, that they belong to the same job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace shardlab {

// Three messages of fixed size: the connecting side's Greeting, the accepting side's Answer, the connecting side's Proof. Each side
// answers the other's nonce with an HMAC-SHA256 under the job's secret (RFC 2104), so the secret itself never travels and a recorded
// conversation is worth nothing.
using Nonce = std::array<std::uint8_t, 16>;
using Mac = std::array<std::uint8_t, 32>;

struct Greeting {
  std::array<char, 8> magic{'s', 'h', 'r', 'd', 'l', 'a', 'b', '1'};
  std::int32_t from = -1, to = -1;
  Nonce nonce{};
};
struct Answer {
  Nonce nonce{};
  Mac mac{};
};
struct Proof {
  Mac mac{};
};
static_assert(sizeof(Greeting) == 32 && sizeof(Answer) == 48 && sizeof(Proof) == 32, "they travel as they lie");

Nonce random_nonce();
Answer answer_to(const Greeting& greeting, const Nonce& nonce, const std::string& secret);
Proof proof_of(const Greeting& greeting, const Nonce& nonce, const std::string& secret);
// In a time that does not depend on where they differ.
bool equal(const Mac& a, const Mac& b);

}  // namespace shardlab
