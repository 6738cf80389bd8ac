#include "virtualdev/transports/handshake.h"

#include <unistd.h>

#include <cstring>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/base/sha256.h"

namespace shardlab {
namespace {

template <typename T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

Mac hmac(const std::string& secret, const std::string& message) {
  constexpr std::size_t kBlock = 64;
  std::string key = secret;
  if (key.size() > kBlock) {
    auto digest = sha256(key);
    key.assign(digest.begin(), digest.end());
  }
  key.resize(kBlock);
  std::string inner = key, outer = key;
  for (char& c : inner) c ^= 0x36;
  for (char& c : outer) c ^= 0x5c;
  auto digest = sha256(inner + message);
  return sha256(outer + std::string(digest.begin(), digest.end()));
}

Mac mac_of(std::string_view role, const Greeting& greeting, const Nonce& nonce, const std::string& secret) {
  std::string message(role);
  message += bytes_of(greeting);
  message += bytes_of(nonce);
  return hmac(secret, message);
}

}  // namespace

Nonce random_nonce() {
  Nonce nonce;
  if (getentropy(nonce.data(), nonce.size()) != 0) throw IoError("no random bytes for a connection's nonce");
  return nonce;
}

Answer answer_to(const Greeting& greeting, const Nonce& nonce, const std::string& secret) {
  return {nonce, mac_of("accepts", greeting, nonce, secret)};
}

Proof proof_of(const Greeting& greeting, const Nonce& nonce, const std::string& secret) {
  return {mac_of("connects", greeting, nonce, secret)};
}

bool equal(const Mac& a, const Mac& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= unsigned(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace shardlab
