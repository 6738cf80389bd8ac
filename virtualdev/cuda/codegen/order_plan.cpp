// sort and top_k: places are put in order, by CUB's radix sort or by merge passes, then the elements by them. Also what permutations of
// random numbers sort by.
#include <fmt/format.h>

#include <bit>
#include <utility>

#include "virtualdev/cuda/codegen/order_passes.h"

namespace shardlab::cuda {

namespace {

// A radix sort of words: of part `part` (1: the imaginary one) of a key the digits from bit `shift` on, the row's number above them.
struct WordSort {
  int key, part, shift, digit_bits, row_bits;
  int bits() const { return digit_bits + row_bits; }
  int bytes() const { return bits() <= 32 ? 4 : 8; }
};

// The sorts that put rows in order by all their keys: the one that matters most comes last, as all are stable. Rows are sorted together:
// words of several rows have room for 32 bits of a key.
std::vector<WordSort> word_sorts(const std::vector<SortKey>& keys, std::int64_t row_count) {
  std::vector<WordSort> sorts;
  const int row_bits = int(std::bit_width(std::uint64_t(row_count - 1)));
  for (int key = int(keys.size()); key-- > 0;) {
    const DType dtype = keys[std::size_t(key)].dtype;
    const int width = 8 * int(size_of(real_dtype(dtype)));
    const int digit_bits = row_bits > 0 ? std::min(width, 32) : width;
    for (int part = is_complex(dtype) ? 1 : 0; part >= 0; --part)
      for (int shift = 0; shift < width; shift += digit_bits) sorts.push_back({key, part, shift, digit_bits, row_bits});
  }
  return sorts;
}

// How often an element is read, about: a radix pass takes eight bits and reads a word, a place, and both again for its counts; a merge pass
// looks for a place by halving, by all keys.
std::int64_t reads_of(const std::vector<WordSort>& sorts) {
  constexpr int kPassBits = 8, kReads = 3;
  std::int64_t passes = 0;
  for (const WordSort& sort : sorts) passes += 1 + (sort.bits() + kPassBits - 1) / kPassBits;
  return passes * kReads;
}
std::int64_t reads_of_merging(std::int64_t count, std::int64_t keys) {
  const std::int64_t passes = std::int64_t(std::bit_width(std::uint64_t(count - 1)));
  return passes * (passes + 1) / 2 * keys;
}

int radix_passes(Planner& planner, const std::vector<SortKey>& keys, SortRows rows, RowOrder order, const std::vector<WordSort>& sorts) {
  const std::int64_t elements = rows.rows * rows.count;
  int widest = 4;
  for (const WordSort& sort : sorts) widest = std::max(widest, sort.bytes());
  int from = planner.temporary(elements * 4), to = planner.temporary(elements * 4);
  const int words = planner.temporary(elements * widest), sorted = planner.temporary(elements * widest);
  planner.kernel("first_order(a)", {from}, {elements, rows.count});
  for (const WordSort& sort : sorts) {
    const SortKey& key = keys[std::size_t(sort.key)];
    planner.kernel(fmt::format("order_words<{}, {}, {}, {}>(a)", type_name(key.dtype), raw_type_name(sort.bytes()), sort.part,
                               order == RowOrder::kSorted ? "SortOrder" : "RankOrder"),
                   {key.buffer, from, words}, {elements, rows.count, rows.stride, sort.shift, sort.digit_bits});
    Call call;
    call.kind = Call::Kind::kSort;
    call.buffers = {words, from, sorted, to};
    call.numbers = {elements, sort.bytes(), sort.bits()};
    planner.add(std::move(call));
    std::swap(from, to);
  }
  return from;
}

}  // namespace

int order_passes(Planner& planner, const std::vector<SortKey>& keys, SortRows rows, RowOrder order) {
  constexpr std::int64_t kCountMax = std::int64_t(1) << 31;  // places are int32
  constexpr std::int64_t kRowsMax = std::int64_t(1) << 32;   // numbered in the upper half of a word
  if (rows.count > kCountMax)
    throw_user_error("a GPU puts rows of at most {} elements in order, and these have {}; cut the dimension over more devices", kCountMax,
                     rows.count);
  if (planner.libraries().has_sorts && rows.rows <= kRowsMax) {
    const std::vector<WordSort> sorts = word_sorts(keys, rows.rows);
    if (reads_of(sorts) < reads_of_merging(rows.count, std::int64_t(keys.size()))) return radix_passes(planner, keys, rows, order, sorts);
  }
  std::int64_t elements = rows.rows * rows.count;
  int from = planner.temporary(elements * 4), to = planner.temporary(elements * 4);
  planner.kernel("first_order(a)", {from}, {elements, rows.count});
  // Whether place x of a row comes before y, by the first key in which they differ.
  std::string tests;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    std::string type(type_name(keys[k].dtype));
    tests += fmt::format(
        "{{ const {0}* row_{1} = a.in<{0}>({1}) + start; {0} u = row_{1}[x * a.number[3]], v = row_{1}[y * a.number[3]]; "
        "if ({2}) return true; if ({3}) return false; }} ",
        type, k, order == RowOrder::kSorted ? "sorts_before(u, v)" : "ranks_before(v, u)",
        order == RowOrder::kSorted ? "sorts_before(v, u)" : "ranks_before(u, v)");
  }
  std::string body = fmt::format(
      "merge_pass<{}>(a, [&](i64 row, i32 x, i32 y) {{ i64 start = row / a.number[3] * a.number[1] * a.number[3] + row % a.number[3]; "
      "{}return false; }})",
      keys.size(), tests);
  for (std::int64_t width = 1; width < rows.count; width *= 2) {
    std::vector<int> buffers;
    for (const SortKey& key : keys) buffers.push_back(key.buffer);
    buffers.insert(buffers.end(), {from, to});
    planner.kernel(body, std::move(buffers), {elements, rows.count, width, rows.stride});
    std::swap(from, to);
  }
  return from;
}

namespace {

bool has(const OpDef& op) { return op.name == "sort" || op.name == "top_k"; }

void plan_sort(Planner& planner, const KernelArgs& args) {
  const TensorType& type = args.operands[0].type;
  std::size_t axis = std::size_t(args.attrs.integer("axis"));
  std::int64_t count = type.shape[axis], stride = strides_of(type.shape)[axis], elements = type.elements();
  std::vector<SortKey> keys;
  for (std::int64_t k = 0; k < args.attrs.integer("num_keys", 1); ++k)
    keys.push_back({planner.operand(std::size_t(k)), args.operands[std::size_t(k)].type.dtype});
  int order = order_passes(planner, keys, {elements / count, count, stride}, RowOrder::kSorted);
  for (std::size_t i = 0; i < args.operands.size(); ++i)
    planner.kernel(fmt::format("take_in_order<{}>(a)", raw_type_name(size_of(args.operands[i].type.dtype))),
                   {planner.operand(i), order, planner.result(i)}, {elements, count, count, stride});
}

void plan_top_k(Planner& planner, const KernelArgs& args) {
  const TensorType& type = args.operands[0].type;
  std::int64_t count = type.shape.back(), k = args.results[0].type.shape.back(), rows = type.elements() / count;
  int order = order_passes(planner, {{planner.operand(0), type.dtype}}, {rows, count, 1}, RowOrder::kLargestFirst);
  planner.kernel(fmt::format("take_in_order<{}>(a)", raw_type_name(size_of(type.dtype))), {planner.operand(0), order, planner.result(0)},
                 {rows * k, k, count, 1});
  planner.kernel("take_places<i32>(a)", {order, planner.result(1)}, {rows * k, k, count, 0});
}

void plan(Planner& planner, const OpDef& op, const KernelArgs& args) {
  op.name == "sort" ? plan_sort(planner, args) : plan_top_k(planner, args);
}

}  // namespace

extern const FamilyDef kOrderFamily;
const FamilyDef kOrderFamily = {
    .name = "order",
    .doc = "radix sorts of places by CUB; of short rows, and without it, stable merge passes by rank, generated",
    .has = has,
    .plan = plan};

}  // namespace shardlab::cuda
