#include "virtualdev/cuda/codegen/packed_loop.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardlab::cuda {

void PackedLoop::widen_to(DType dtype) { widest_ = std::max(widest_, size_of(dtype)); }

std::string PackedLoop::element(DType dtype, int buffer) {
  widen_to(dtype);
  declared_[fmt::format("x{}", buffer)] = fmt::format("auto x{0} = load(a.in<{1}>({0}), lanes, i); ", buffer, type_name(dtype));
  return fmt::format("x{}.at[l]", buffer);
}

std::string PackedLoop::single(DType dtype, int buffer, const std::string& place) {
  declared_[fmt::format("s{}", buffer)] = fmt::format("{1} s{0} = a.in<{1}>({0})[{2}]; ", buffer, type_name(dtype), place);
  return fmt::format("s{}", buffer);
}

std::string PackedLoop::repeated(DType dtype, int buffer, int number) {
  declared_[fmt::format("r{}", number)] = fmt::format("Repeat r{0}(i, a.number[{0}], a.number[{1}]); ", number, number + 1);
  repeats_.insert(number);
  return fmt::format("a.in<{}>({})[r{}.at]", type_name(dtype), buffer, number);
}

void PackedLoop::store(DType dtype, int buffer, const std::string& value) {
  widen_to(dtype);
  declared_[fmt::format("y{}", buffer)] = fmt::format("Pack<{1}, lanes.count> y{0}; ", buffer, type_name(dtype));
  body_ += fmt::format("y{}.at[l] = {}; ", buffer, value);
  ends_ += fmt::format("store(a.out<{1}>({0}), i, y{0}); ", buffer, type_name(dtype));
}

std::string PackedLoop::text(const std::string& head) const {
  std::string begin, next;
  for (const auto& [name, declaration] : declared_) begin += declaration;
  for (int number : repeats_) next += fmt::format("r{}.next(); ", number);
  return fmt::format(
      fmt::runtime(head), lanes(),
      fmt::format("[&](auto lanes, i64 i) {{ {}for (int l = 0; l < lanes.count; ++l) {{ {}{}}} {}}}", begin, body_, next, ends_));
}

}  // namespace shardlab::cuda
