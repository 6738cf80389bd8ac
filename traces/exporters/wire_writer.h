// Writes the wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding): no generated code, no library.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace shardlab::exporters {

// Appends fields of one message to a text of bytes. Fields come in any order; nothing is written of what is not asked for.
class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  // int32, int64, uint32, uint64, bool and enums; negative numbers take ten bytes.
  void number(std::uint32_t field, std::uint64_t value) {
    key(field, 0);
    varint(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    key(field, 1);
    if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
    char bytes[8];
    std::memcpy(bytes, &value, 8);
    out_.append(bytes, 8);
  }
  // A string must be UTF-8: clean_text() of text.h makes it so.
  void text(std::uint32_t field, std::string_view bytes) {
    key(field, 2);
    varint(bytes.size());
    out_.append(bytes);
  }
  // A message within: what `write` appends, behind its length.
  template <typename Write>
  void message(std::uint32_t field, const Write& write) {
    key(field, 2);
    const std::size_t at = out_.size();
    write(*this);
    Encoded length;
    out_.insert(at, length, std::size_t(encode(out_.size() - at, length)));
  }

  void varint(std::uint64_t value) {
    Encoded bytes;
    out_.append(bytes, std::size_t(encode(value, bytes)));
  }

 private:
  using Encoded = char[16];  // ten bytes are the most
  void key(std::uint32_t field, std::uint32_t type) { varint(field << 3 | type); }
  static int encode(std::uint64_t value, Encoded& bytes) {
    int count = 0;
    for (; value >= 0x80; value >>= 7) bytes[count++] = char(value | 0x80);
    bytes[count++] = char(value);
    return count;
  }
  std::string& out_;
};

}  // namespace shardlab::exporters
