// einsum: diagonals and sums of each operand, then dot_general of one pair after the other, then perhaps a transpose.
#include <algorithm>
#include <cctype>
#include <map>

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
      throw_user_error("{}: the result's '{}' in subscripts \"{}\" must be in an operand, and in the result once", op.name, c, text);
  return parsed;
}

Named with_names(GraphBuilder& b, const OpDef& op, ValueId value, const std::string& names, std::map<char, std::int64_t>& sizes) {
  const Shape& shape = b.shape(value);
  if (shape.size() != names.size())
    throw_user_error("{}: the subscripts '{}' name {} dimensions, the operand has shape {}", op.name, names, names.size(), text_of(shape));
  for (std::size_t d = 0; d < names.size(); ++d) {
    auto [known, is_new] = sizes.emplace(names[d], shape[d]);
    if (known->second == 1) known->second = shape[d];
    if (shape[d] != known->second && shape[d] != 1)
      throw_user_error("{}: Size of label '{}' for operand of shape {} ({}) does not match previous terms ({})", op.name, names[d],
                       text_of(shape), shape[d], known->second);
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

// Keeps the diagonal of repeated names: all but the last of them are masked by iota and summed.
Named diagonal(GraphBuilder& b, Named x) {
  for (std::size_t d = 0; d < x.names.size(); ++d) {
    std::size_t later = x.names.find(x.names[d], d + 1);
    if (later == std::string::npos) continue;
    const TensorType type = b.type(x.value);
    auto index = [&](std::size_t along) {
      return b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", type.shape}, {"dimension", std::int64_t(along)}});
    };
    ValueId first = index(d);
    ValueId mask = b.emit1(kEqual, {first, index(later)});
    ValueId masked = b.emit1(kSelect, {mask, x.value, filled(b, type, 0.0)});
    const OpDef& add = type.dtype == DType::kBool ? kReduceOr : kReduceSum;
    return diagonal(b, {reduced(b, add, masked, {int(d)}, false), x.names.substr(0, d) + x.names.substr(d + 1)});
  }
  return x;
}

// Sums out the names that `keep` lacks.
Named summed(GraphBuilder& b, const Named& x, const std::string& keep) {
  std::vector<int> axes;
  std::string names;
  for (std::size_t d = 0; d < x.names.size(); ++d) {
    if (has(keep, x.names[d]))
      names += x.names[d];
    else
      axes.push_back(int(d));
  }
  if (axes.empty()) return x;
  return {reduced(b, b.type(x.value).dtype == DType::kBool ? kReduceOr : kReduceSum, x.value, axes, false), names};
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

Named contracted(GraphBuilder& b, const Named& x, const Named& y, const std::string& batch, const std::string& contract) {
  ValueId result = b.emit1(kDotGeneral, {x.value, y.value}, Attrs{{"batch", places(x, y, batch)}, {"contract", places(x, y, contract)}});
  return {result, batch + without(x.names, batch + contract) + without(y.names, batch + contract)};
}

// Source: jax.numpy's einsum, which tries the order without a transpose first.
Named product(GraphBuilder& b, Named x, Named y, const std::string& result) {
  std::string batch, contract;
  for (char c : result)
    if (has(x.names, c) && has(y.names, c)) batch += c;
  for (char c : x.names)
    if (has(y.names, c) && !has(result, c)) contract += c;
  std::sort(contract.begin(), contract.end());
  bool in_front = x.names.starts_with(batch) && y.names.starts_with(batch);
  if (!in_front) {
    x = reordered(b, x, batch + without(x.names, batch));
    y = reordered(b, y, batch + without(y.names, batch));
  }
  std::string in_order = batch + without(x.names, batch + contract) + without(y.names, batch + contract);
  return in_order == result ? contracted(b, x, y, batch, contract) : contracted(b, y, x, batch, contract);
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<int> ranks;
  for (const Arg& arg : args) ranks.push_back(int(shape_of_arg(b, arg).size()));
  Subscripts subscripts = parse(op, attrs, ranks);
  DType dtype = promoted_dtype(b, args);
  std::map<char, std::int64_t> sizes;
  std::vector<Named> operands;
  for (std::size_t i = 0; i < args.size(); ++i)
    operands.push_back(with_names(b, op, value_of(b, args[i], dtype), subscripts.operands[i], sizes));
  for (const Named& x : operands)  // again, now that every size is known
    for (std::size_t d = 0; d < x.names.size(); ++d)
      if (std::int64_t size = b.shape(x.value)[d]; size != 1 && size != sizes.at(x.names[d]))
        throw_user_error("{}: Size of label '{}' for operand of shape {} ({}) does not match previous terms ({})", op.name, x.names[d],
                         text_of(b.shape(x.value)), size, sizes.at(x.names[d]));
  for (Named& x : operands) x = diagonal(b, without_broadcast_dims(b, x, sizes));
  Named result;
  if (operands.size() == 1) {
    result = summed(b, operands[0], subscripts.result);
  } else {
    // From left to right; what only the operands so far have is summed as soon as it can be.
    result = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i) {
      bool is_last = i + 1 == operands.size();
      std::string later = subscripts.result;
      for (std::size_t j = i + 1; j < operands.size(); ++j) later += operands[j].names;
      Named x = summed(b, result, later + operands[i].names);
      Named y = summed(b, operands[i], later + x.names);
      std::string kept;
      for (char c : x.names + y.names)
        if (has(later, c) && !has(kept, c)) kept += c;
      result = product(b, x, y, is_last ? subscripts.result : kept);
    }
  }
  return {reordered(b, result, subscripts.result).value};
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
