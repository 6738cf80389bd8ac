// A stream of bytes to and from one other process: what the transports between processes are made of.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace shardlab {

// Never blocks. One thread at a time. What is written arrives whole and in order, or the link breaks.
class ByteLink {
 public:
  virtual ~ByteLink() = default;
  // Takes a prefix of the parts, as much as there is room for; how many bytes that is. `parts` are sent as one stream.
  virtual std::size_t write(std::span<const std::span<const std::byte>> parts) = 0;
  // Fills a prefix of `into`; how many bytes that is.
  virtual std::size_t read(std::span<std::byte> into) = 0;
  // What to poll for when nothing moves; -1: the other side rings this process's doorbell.
  virtual int fd() const { return -1; }
  // Nothing wakes who waits for it: it is asked again after a while.
  virtual bool is_polled() const { return false; }
  // What was written needs no more calls to leave this process.
  virtual bool is_flushed() { return true; }
  // Why nothing will ever move again; nothing while it works.
  virtual std::optional<std::string> broken() const { return std::nullopt; }
};

}  // namespace shardlab
