// The memory of buffers: what is let go is kept for the next buffer of about its size.
#pragma once

#include <cstddef>

namespace shardlab {

// Uninitialised memory, aligned to 64 bytes. bad_alloc where there is none.
std::byte* allocate_buffer_memory(std::size_t bytes);
// `bytes` as it was asked for.
void free_buffer_memory(std::byte* data, std::size_t bytes) noexcept;

// What is kept for later, at most a quarter of the machine's memory. The system may take kept pages back whenever it is short of memory.
std::size_t kept_buffer_memory();
void drop_kept_buffer_memory();

}  // namespace shardlab
