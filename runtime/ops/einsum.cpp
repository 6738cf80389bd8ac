// einsum: sums and diagonals of operands, then dot_general of one pair after the other, then perhaps a transpose.
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "runtime/ops/contraction_order.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/reductions.h"

namespace shardlab::ops {
namespace {

// A value whose dimensions have names, one letter each. Dimensions of an ellipsis have digits, '0' for the last: they align from the end.
struct Named {
  ValueId value;
  std::string names;
};

struct Subscripts {
  std::vector<std::string> operands;
  std::string result;
};

bool has(const std::string& names, char name) { return names.find(name) != std::string::npos; }

constexpr std::int64_t kEllipsisMax = 10;

// The names of dimensions, with an ellipsis of `ellipsis` dimensions written out.
std::string letters(const OpDef& op, std::string text, std::string_view all, std::int64_t ellipsis) {
  if (std::size_t dots = text.find("..."); dots != std::string::npos) {
    std::string digits;
    for (std::int64_t i = ellipsis; i-- > 0;) digits += char('0' + i);
    text = text.substr(0, dots) + text.substr(dots + 3);
    for (char c : text)
      if (!std::isalpha(static_cast<unsigned char>(c)))
        throw_user_error("{}: '{}' in subscripts \"{}\" is no letter; name each dimension by one, or use one ellipsis", op.name, c, all);
    return text.substr(0, dots) + digits + text.substr(dots);
  }
  for (char c : text)
    if (!std::isalpha(static_cast<unsigned char>(c)))
      throw_user_error("{}: '{}' in subscripts \"{}\" is no letter; name each dimension by one, or use one ellipsis", op.name, c, all);
  return text;
}

// How many dimensions the ellipsis of an operand of this rank stands for.
std::int64_t ellipsis_rank(const OpDef& op, const std::string& names, int rank, std::string_view all) {
  std::int64_t left = rank - (std::int64_t(names.size()) - 3);
  if (names.find("...") == std::string::npos) return 0;
  if (left < 0 || left > kEllipsisMax)
    throw_user_error("{}: the subscripts '{}' of \"{}\" do not fit an operand of {} dimensions (an ellipsis stands for 0 to {})", op.name,
                     names, all, rank, kEllipsisMax);
  return left;
}

// "ij,jk->ik"; without an arrow the result has the letters that occur once, in alphabetical order.
Subscripts parse(const OpDef& op, const Attrs& attrs, const std::vector<int>& ranks) {
  std::size_t operand_count = ranks.size();
  const AttrValue* given = attrs.find("subscripts");
  if (given == nullptr || !std::holds_alternative<std::string>(*given)) throw_user_error("{}: attribute 'subscripts' is missing", op.name);
  std::string text;
  for (char c : std::get<std::string>(*given))
    if (c != ' ') text += c;
  Subscripts parsed;
  std::size_t arrow = text.find("->"), start = 0;
  std::string inputs = text.substr(0, arrow);
  while (true) {
    std::size_t comma = inputs.find(',', start);
    parsed.operands.push_back(inputs.substr(start, comma == std::string::npos ? comma : comma - start));
    if (comma == std::string::npos) break;
    start = comma + 1;
  }
  if (parsed.operands.size() != operand_count)
    throw_user_error("{}: subscripts \"{}\" name {} operands, got {}", op.name, text, parsed.operands.size(), operand_count);
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < operand_count; ++i) {
    std::int64_t ellipsis = ellipsis_rank(op, parsed.operands[i], ranks[i], text);
    longest = std::max(longest, ellipsis);
    parsed.operands[i] = letters(op, parsed.operands[i], text, ellipsis);
  }
  std::map<char, int> counts;
  for (const std::string& names : parsed.operands)
    for (char c : names) ++counts[c];
  if (arrow == std::string::npos) {
    parsed.result = letters(op, "...", text, longest);
    for (auto [name, count] : counts)
      if (count == 1 && std::isalpha(static_cast<unsigned char>(name))) parsed.result += name;
    return parsed;
  }
  parsed.result = letters(op, text.substr(arrow + 2), text, longest);
  for (char c : parsed.result)
    if (counts.count(c) == 0 || std::count(parsed.result.begin(), parsed.result.end(), c) > 1)
      throw_user_error("{}: Output character '{}' {} (subscripts \"{}\")", op.name, c,
                       counts.count(c) == 0 ? "did not appear in the input" : "appeared more than once in the output.", text);
  return parsed;
}

Named with_names(GraphBuilder& b, const OpDef& op, ValueId value, std::size_t operand, const std::string& names,
                 std::map<char, std::int64_t>& sizes) {
  const Shape& shape = b.shape(value);
  if (shape.size() != names.size())
    throw_user_error(
        "{}: Einstein sum subscript '{}' does not contain the correct number of indices for operand {}. (It names {} dimensions, the "
        "operand has shape {})",
        op.name, names, operand, names.size(), text_of(shape));
  for (std::size_t d = 0; d < names.size(); ++d) {
    auto [known, is_new] = sizes.emplace(names[d], shape[d]);
    if (known->second == 1) known->second = shape[d];
    if (shape[d] != known->second && shape[d] != 1)
      throw_user_error("{}: Size of label '{}' for operand {} ({}) does not match previous terms ({}). (Operand {} has shape {})", op.name,
                       names[d], operand, shape[d], known->second, operand, text_of(shape));
  }
  return {value, names};
}

// A dimension of size 1 whose name has a larger size elsewhere is dropped: it broadcasts.
Named without_broadcast_dims(GraphBuilder& b, const Named& x, const std::map<char, std::int64_t>& sizes) {
  Shape shape;
  std::string names;
  for (std::size_t d = 0; d < x.names.size(); ++d) {
    if (b.shape(x.value)[d] == 1 && sizes.at(x.names[d]) != 1) continue;
    shape.push_back(b.shape(x.value)[d]);
    names += x.names[d];
  }
  return {reshaped(b, x.value, shape), names};
}

const OpDef& sum_op(GraphBuilder& b, ValueId x) { return b.type(x).dtype == DType::kBool ? kReduceOr : kReduceSum; }

// Sums over dimensions by their places.
Named summed(GraphBuilder& b, const Named& x, const std::vector<int>& axes) {
  if (axes.empty()) return x;
  std::string names;
  for (std::size_t d = 0; d < x.names.size(); ++d)
    if (std::find(axes.begin(), axes.end(), int(d)) == axes.end()) names += x.names[d];
  return {reduced(b, sum_op(b, x.value), x.value, axes, false), names};
}

// Sums over the names that occur once and that `keep` lacks.
Named without_singles(GraphBuilder& b, const Named& x, const std::string& keep) {
  std::vector<int> axes;
  for (std::size_t d = 0; d < x.names.size(); ++d)
    if (!has(keep, x.names[d]) && std::count(x.names.begin(), x.names.end(), x.names[d]) == 1) axes.push_back(int(d));
  return summed(b, x, axes);
}

// Of each repeated name the diagonal, masked by iota, summed: over all its dimensions, or where `keep` has it over all but the last.
Named without_repeats(GraphBuilder& b, Named x, const std::string& keep) {
  for (std::size_t first = 0; first < x.names.size(); ++first) {
    std::vector<int> axes;
    for (std::size_t d = first; d < x.names.size(); ++d)
      if (x.names[d] == x.names[first]) axes.push_back(int(d));
    if (axes.size() == 1) continue;
    const TensorType type = b.type(x.value);
    auto index = [&](int along) {
      return b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", type.shape}, {"dimension", std::int64_t(along)}});
    };
    std::optional<ValueId> mask;
    for (std::size_t i = 1; i < axes.size(); ++i) {
      ValueId equal = b.emit1(kEqual, {index(axes[i - 1]), index(axes[i])});
      mask = mask ? b.emit1(kAnd, {*mask, equal}) : equal;
    }
    x.value = b.emit1(kSelect, {*mask, x.value, filled(b, type, 0.0)});
    if (has(keep, x.names[first])) axes.pop_back();
    return without_repeats(b, summed(b, x, axes), keep);
  }
  return x;
}

Named reordered(GraphBuilder& b, const Named& x, const std::string& names) {
  std::vector<int> axes;
  for (char c : names) axes.push_back(int(x.names.find(c)));
  return {transposed(b, x.value, axes), names};
}

std::string without(const std::string& names, const std::string& dropped) {
  std::string kept;
  for (char c : names)
    if (!has(dropped, c)) kept += c;
  return kept;
}

std::vector<std::int64_t> places(const Named& x, const Named& y, const std::string& names) {
  std::vector<std::int64_t> dims;
  for (const Named* side : {&x, &y})
    for (char c : names) dims.push_back(std::int64_t(side->names.find(c)));
  return dims;
}

// The product of two operands, summed over the names that `result` lacks; in the order of `result`, by a transpose where neither order of
// the operands gives it. Source: jax.numpy's einsum.
Named product(GraphBuilder& b, Named x, Named y, const std::string& result) {
  x = without_repeats(b, without_singles(b, x, result + y.names), result + y.names);
  y = without_repeats(b, without_singles(b, y, result + x.names), result + x.names);
  std::string batch, contract;
  for (char c : result)
    if (has(x.names, c) && has(y.names, c)) batch += c;
  for (char c : x.names)
    if (has(y.names, c) && !has(result, c)) contract += c;
  std::sort(contract.begin(), contract.end());
  auto in_order = [&](const Named& left, const Named& right) {
    return batch + without(left.names, batch + contract) + without(right.names, batch + contract);
  };
  if (in_order(x, y) != result) std::swap(x, y);
  ValueId value = b.emit1(kDotGeneral, {x.value, y.value}, Attrs{{"batch", places(x, y, batch)}, {"contract", places(x, y, contract)}});
  return reordered(b, {value, in_order(x, y)}, result);
}

// The names of a product that later operands or the result need, in an order that asks for no transpose.
std::string kept_names(const Named& x, const Named& y, const std::string& needed) {
  std::string kept;
  for (char c : y.names + x.names)
    if (has(needed, c) && !has(kept, c)) kept += c;
  return kept;
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<int> ranks;
  for (const Arg& arg : args) ranks.push_back(int(shape_of_arg(b, arg).size()));
  Subscripts subscripts = parse(op, attrs, ranks);
  DType dtype = promoted_dtype(b, args);
  std::map<char, std::int64_t> sizes;
  std::vector<Named> operands;
  for (std::size_t i = 0; i < args.size(); ++i)
    operands.push_back(with_names(b, op, value_of(b, args[i], dtype), i, subscripts.operands[i], sizes));
  for (std::size_t i = 0; i < operands.size(); ++i) {  // again, now that every size is known
    const Named& x = operands[i];
    for (std::size_t d = 0; d < x.names.size(); ++d)
      if (std::int64_t size = b.shape(x.value)[d]; size != 1 && size != sizes.at(x.names[d]))
        throw_user_error("{}: Size of label '{}' for operand {} ({}) does not match previous terms ({}). (Operand {} has shape {})",
                         op.name, x.names[d], i, size, sizes.at(x.names[d]), i, text_of(b.shape(x.value)));
  }
  for (Named& x : operands) x = without_broadcast_dims(b, x, sizes);
  if (operands.size() == 1) {
    Named only = without_repeats(b, without_singles(b, operands[0], subscripts.result), subscripts.result);
    return {reordered(b, only, subscripts.result).value};
  }
  std::vector<std::string> names;
  for (const Named& x : operands) names.push_back(x.names);
  for (auto [first, second] : contraction_order(names, subscripts.result, sizes)) {
    Named x = operands[first], y = operands[second];
    operands.erase(operands.begin() + std::ptrdiff_t(second));
    operands.erase(operands.begin() + std::ptrdiff_t(first));
    std::string needed = subscripts.result;
    for (const Named& other : operands) needed += other.names;
    operands.push_back(product(b, x, y, operands.empty() ? subscripts.result : kept_names(x, y, needed)));
  }
  return {operands[0].value};
}

constexpr AttrDef kAttrs[] = {
    {"subscripts", AttrDef::Kind::kString, true, "a letter for each dimension, as \"ij,jk->ik\"; \"...\" for the others"}};

}  // namespace

extern const OpDef kEinsum;
const OpDef kEinsum = {.name = "einsum",
                       .doc = "Einstein's summation over operands.",
                       .operands_min = 1,
                       .operands_max = -1,
                       .attrs = kAttrs,
                       .expand = expand};

}  // namespace shardlab::ops
