#include "virtualdev/cuda/codegen/node_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/sha256.h"
#include "virtualdev/cuda/codegen/kernel_library.h"

namespace shardlab::cuda {

std::string KernelText::name() const {
  std::string text = fmt::format("{} {} {}", body, buffers, numbers);
  if (instances > 1) text += fmt::format(" {}", instances);
  return fmt::format("k{:016x}", sha256_prefix(text));
}

std::string_view type_name(DType dtype) {
  static constexpr std::string_view kNames[] = {"bool", "i8",   "i16", "i32", "i64", "u8",  "u16", "u32",
                                                "u64",  "bf16", "f16", "f32", "f64", "c64", "c128"};
  return kNames[std::size_t(dtype)];
}

std::string_view wide_name(DType dtype) { return is_half(dtype) ? "f32" : type_name(dtype); }
std::int64_t wide_bytes(DType dtype) { return is_half(dtype) ? 4 : size_of(dtype); }

std::string_view raw_type_name(std::int64_t bytes) {
  switch (bytes) {
    case 1:
      return "u8";
    case 2:
      return "u16";
    case 4:
      return "u32";
    case 8:
      return "u64";
    default:
      return "wide16";
  }
}

std::string_view functor_name(Reduction reduction) {
  static constexpr std::string_view kNames[] = {"Sum", "Prod", "Max", "Min", "And", "Or"};
  return kNames[std::size_t(reduction)];
}

std::int64_t integer_code(DType dtype) {
  SL_CHECK(is_integer(dtype), "indices of {}", name_of(dtype));
  return std::int64_t(dtype) - std::int64_t(DType::kInt8);
}

int Planner::temporary(std::int64_t bytes) {
  plan_.temporaries.push_back(std::size_t(bytes));
  return int(args_.operands.size() + args_.results.size() + plan_.temporaries.size()) - 1;
}

Call& Planner::add(Call call) { return plan_.calls.emplace_back(std::move(call)); }

Call& Planner::kernel(std::string body, std::vector<int> buffers, std::vector<std::int64_t> numbers) {
  Call call;
  call.kernel = {std::move(body), int(buffers.size()), int(numbers.size())};
  call.work = numbers.at(0);
  call.buffers = std::move(buffers);
  call.numbers = std::move(numbers);
  return add(std::move(call));
}

Call& Planner::kernel_of_blocks(std::string body, std::vector<int> buffers, std::vector<std::int64_t> numbers) {
  Call& call = kernel(std::move(body), std::move(buffers), std::move(numbers));
  call.has_barriers = true;
  return call;
}

void Planner::copy(int from, std::int64_t from_offset, int to, std::int64_t to_offset, std::int64_t bytes) {
  if (bytes == 0) return;
  Call call;
  call.kind = Call::Kind::kCopy;
  call.buffers = {from, to};
  call.numbers = {bytes, from_offset, to_offset};
  add(std::move(call));
}

void Planner::clear(int buffer, std::int64_t bytes, int byte) {
  if (bytes == 0) return;
  Call call;
  call.kind = Call::Kind::kClear;
  call.buffers = {buffer};
  call.numbers = {bytes, byte};
  add(std::move(call));
}

void Planner::upload(int buffer, BufferRef data) {
  if (data->size() == 0) return;
  Call call;
  call.kind = Call::Kind::kUpload;
  call.buffers = {buffer};
  call.numbers = {std::int64_t(data->size())};
  call.data = std::move(data);
  add(std::move(call));
}

namespace {

struct Dim {
  std::int64_t size, from, to;
};

// Neighbouring dimensions that both sides walk alike become one.
std::vector<Dim> merged(const Shape& shape, const Shape& from, const Shape& to) {
  std::vector<Dim> dims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!dims.empty() && dims.back().from == shape[d] * from[d] && dims.back().to == shape[d] * to[d])
      dims.back() = {dims.back().size * shape[d], from[d], to[d]};
    else
      dims.push_back({shape[d], from[d], to[d]});
  }
  return dims;
}

// How many elements that lie together on both sides, everywhere, can be moved as one.
std::int64_t lanes_of(const std::vector<Dim>& dims, std::int64_t from, std::int64_t to, std::int64_t element_bytes) {
  if (dims.back().from != 1 || dims.back().to != 1) return 1;
  auto fits = [&](std::int64_t lanes) {
    bool all = dims.back().size % lanes == 0 && from % lanes == 0 && to % lanes == 0;
    for (std::size_t d = 0; d + 1 < dims.size(); ++d) all = all && dims[d].from % lanes == 0 && dims[d].to % lanes == 0;
    return all;
  };
  std::int64_t lanes = 16 / element_bytes;
  while (!fits(lanes)) lanes /= 2;
  return lanes;
}

// As many as lie together where each is the same element.
std::int64_t spread_lanes_of(const std::vector<Dim>& dims, std::int64_t to, std::int64_t element_bytes) {
  if (dims.back().from != 0 || dims.back().to != 1) return 1;
  auto fits = [&](std::int64_t lanes) {
    return dims.back().size % lanes == 0 && to % lanes == 0 &&
           std::all_of(dims.begin(), dims.end() - 1, [&](const Dim& dim) { return dim.to % lanes == 0; });
  };
  std::int64_t lanes = 16 / element_bytes;
  while (!fits(lanes)) lanes /= 2;
  return lanes;
}

constexpr std::int64_t kTiledMin = 16;  // dimensions that are shorter fill no tile

// Of copy_tiles(): larger tiles are faster where there are many, and fit into a block's memory where elements are narrow.
std::int64_t tile_side(std::int64_t count, std::int64_t element_bytes) {
  constexpr std::int64_t kSide = 32, kManyTiles = 512;
  return element_bytes <= 4 && count >= kManyTiles * (2 * kSide) * (2 * kSide) ? 2 * kSide : kSide;
}

}  // namespace

void Planner::copy_region(const Shape& shape, Side from, Side to, std::int64_t element_bytes) {
  std::int64_t count = element_count(shape);
  if (count == 0) return;
  std::vector<Dim> dims = merged(shape, from.strides, to.strides);
  if (dims.empty()) dims.push_back({1, 1, 1});
  if (!uses_kernels_alone_ && dims.size() == 1 && dims[0].from == 1 && dims[0].to == 1) {
    copy(from.buffer, from.offset * element_bytes, to.buffer, to.offset * element_bytes, count * element_bytes);
    return;
  }
  auto numbers_of = [](std::vector<std::int64_t> numbers, const std::vector<Dim>& list) {
    for (const Dim& dim : list) numbers.insert(numbers.end(), {dim.size, dim.from, dim.to});
    return numbers;
  };
  auto row = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.from == 1 && dim.size >= kTiledMin; });
  auto column = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.to == 1 && dim.size >= kTiledMin; });
  if (row != dims.end() && column != dims.end() && row != column && column->from != 0) {
    const Dim rows = *row, columns = *column;
    dims.erase(std::max(row, column));
    dims.erase(std::min(row, column));
    auto is_even = [](std::initializer_list<std::int64_t> numbers) {
      return std::all_of(numbers.begin(), numbers.end(), [](std::int64_t number) { return number % 2 == 0; });
    };
    constexpr std::int64_t kPairsMin = 32;  // a dimension that fills half a tile
    const bool by_pairs = element_bytes == 2 && std::min(rows.size, columns.size) >= kPairsMin &&
                          is_even({from.offset, to.offset, rows.size, rows.to, columns.size, columns.from}) &&
                          std::all_of(dims.begin(), dims.end(), [&](const Dim& dim) {
                            return is_even({dim.from, dim.to});
                          });
    const std::int64_t side = by_pairs ? 64 : tile_side(count, element_bytes);
    const std::int64_t row_tiles = (rows.size + side - 1) / side, column_tiles = (columns.size + side - 1) / side;
    const std::string body = by_pairs ? fmt::format("copy_tile_pairs<{}>(a)", dims.size())
                                      : fmt::format("copy_tiles<{}, {}, {}>(a)", raw_type_name(element_bytes), dims.size(), side);
    kernel_of_blocks(body, {from.buffer, to.buffer},
                     numbers_of({count / (rows.size * columns.size) * row_tiles * column_tiles, from.offset, to.offset, rows.size, rows.to,
                                 row_tiles, columns.size, columns.from, column_tiles},
                                dims));
    return;
  }
  const std::int64_t lanes = lanes_of(dims, from.offset, to.offset, element_bytes);
  if (lanes > 1) {
    for (Dim& dim : dims) dim = {dim.size, dim.from / lanes, dim.to / lanes};
    dims.back() = {dims.back().size / lanes, 1, 1};
  }
  constexpr std::int64_t kNarrowMax = (std::int64_t(1) << 32) - 1;
  if (const std::int64_t spread = lanes > 1 ? 1 : spread_lanes_of(dims, to.offset, element_bytes); spread > 1) {
    for (Dim& dim : dims) dim.to /= spread;
    dims.back() = {dims.back().size / spread, 0, 1};
    kernel(fmt::format("spread_region<{}, {}, {}, {}>(a)", raw_type_name(element_bytes), spread, dims.size(),
                       count / spread <= kNarrowMax ? "u32" : "u64"),
           {from.buffer, to.buffer}, numbers_of({count / spread, from.offset, to.offset / spread}, dims));
    return;
  }
  kernel(fmt::format("copy_region<{}, {}, {}>(a)", raw_type_name(element_bytes * lanes), dims.size(),
                     count / lanes <= kNarrowMax ? "u32" : "u64"),
         {from.buffer, to.buffer}, numbers_of({count / lanes, from.offset / lanes, to.offset / lanes}, dims));
}

NodePlan plan_node(const OpDef& op, const KernelArgs& args, Libraries libraries) {
  const FamilyDef* family = family_of(op);
  if (family == nullptr)
    throw_user_error("{} has no GPU path; compute it on CPU devices, and move its operands there with device_put", op.name);
  Planner planner(args, libraries);
  bool is_empty = true;
  for (const MutableView& result : args.results) is_empty &= result.type.elements() == 0;
  if (!is_empty) family->plan(planner, op, args);
  return planner.take();
}

std::string program_text(const std::vector<KernelText>& kernels, Form form) {
  std::string text(form == Form::kNvrtc ? kernel_library("nvrtc_form.h") : kernel_library("host_form.h"));
  for (const char* part : {"base.cuh", "complex.cuh", "integrals.inc", "waves.inc", "elementwise.cuh", "move.cuh", "reduce.cuh",
                           "order.cuh", "random.cuh", "gamma_sample.inc", "gamma.cuh", "scatter.cuh", "product.cuh", "convolve.cuh",
                           "decompose.cuh", "rotate.cuh", "schur.inc", "schur.cuh"})
    text += kernel_library(part);
  for (const KernelText& kernel : kernels) {
    std::string arguments = fmt::format("Arguments<{}, {}>", std::max(kernel.buffers, 1), std::max(kernel.numbers, 1));
    // Few arguments are read once; many would take the registers of what is computed.
    constexpr int kReadOnceMax = 16;
    const char* how = kernel.buffers + kernel.numbers <= kReadOnceMax ? "" : "&";
    if (form == Form::kNvrtc && kernel.instances > 1)
      text += fmt::format("KERNEL {}(const __grid_constant__ Instances<{}, {}> all) {{ const {}{} a = all.each[blockIdx.y]; {}; }}\n",
                          kernel.name(), arguments, kernel.instances, arguments, how, kernel.body);
    else if (form == Form::kNvrtc)
      text += fmt::format("KERNEL {}(const {} a) {{ {}; }}\n", kernel.name(), arguments, kernel.body);
    else
      text += fmt::format("KERNEL {}(const void* p) {{ const {}& a = *static_cast<const {}*>(p); {}; }}\n", kernel.name(), arguments,
                          arguments, kernel.body);
  }
  return text;
}

}  // namespace shardlab::cuda
