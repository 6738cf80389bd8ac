// Source: the grammar and the errors are those of JAX's custom_partitioning (its documentation of sharding_rule, and its messages).
#include "runtime/ops/partition_rule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "runtime/base/error.h"

namespace shardlab::ops {
namespace {

using Strings = std::vector<std::string>;
using Dim = Strings;  // one factor, or several: a compound dimension

struct TensorText {
  std::optional<std::string> batch;  // the group of the leading ellipsis
  std::vector<Dim> dims;
};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// One side of the rule, character by character.
class Side {
 public:
  explicit Side(std::string_view text) : text_(text) {}

  std::vector<TensorText> read() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '.') {
        ellipsis();
      } else if (is_letter(c) || is_digit(c) || c == '_') {
        factor();
      } else {
        punctuation(c);
        ++at_;
      }
    }
    if (compound_) throw_user_error("Brackets are not balanced in rule: '{}'", text_);
    tensors_.push_back(std::move(now_));
    return std::move(tensors_);
  }

 private:
  void ellipsis() {
    if (text_.substr(at_, 3) != "...") throw_user_error("Character '.' must be used inside ellipsis '...'");
    if (compound_ || !now_.dims.empty() || now_.batch)
      throw_user_error("Ellipsis can only be used at the beginning of a dimension, in rule: '{}'", text_);
    at_ += 3;
    std::size_t first = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    std::string group(text_.substr(first, at_ - first));
    group.erase(0, std::min(group.find_first_not_of('0'), group.size()));
    now_.batch = group.empty() ? "0" : group;
  }

  void factor() {
    if (!is_letter(text_[at_])) throw_user_error("Factor names have to start with a letter, but got '{}'", text_[at_]);
    std::size_t first = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '_')) ++at_;
    std::string name(text_.substr(first, at_ - first));
    if (compound_)
      compound_->push_back(std::move(name));
    else
      now_.dims.push_back({std::move(name)});
  }

  void punctuation(char c) {
    if (c == ' ' || c == '\t' || c == '\n') return;
    if (c == '(') {
      if (compound_) throw_user_error("Compound factors should be one level, nested brackets are not allowed");
      compound_.emplace();
    } else if (c == ')') {
      if (!compound_) throw_user_error("Brackets are not balanced in rule: '{}'", text_);
      if (compound_->size() < 2) throw_user_error("Brackets should contain at least two factors");
      now_.dims.push_back(std::move(*compound_));
      compound_.reset();
    } else if (c == ',') {
      if (compound_) throw_user_error("Brackets are not balanced in rule: '{}'", text_);
      tensors_.push_back(std::move(now_));
      now_ = {};
    } else {
      throw_user_error("Unknown character '{}'", c);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<TensorText> tensors_;
  TensorText now_;
  std::optional<Dim> compound_;
};

struct RuleText {
  std::vector<TensorText> operands, results;
  std::vector<const TensorText*> all() const {
    std::vector<const TensorText*> tensors;
    for (const TensorText& each : operands) tensors.push_back(&each);
    for (const TensorText& each : results) tensors.push_back(&each);
    return tensors;
  }
};

RuleText read_rule(const std::string& text) {
  std::size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.find("->", arrow + 2) != std::string::npos) throw_user_error("There is no -> in rule: '{}'", text);
  return {Side(std::string_view(text).substr(0, arrow)).read(), Side(std::string_view(text).substr(arrow + 2)).read()};
}

Strings names_in(const Attrs& attrs, std::string_view name) { return attrs.has(name) ? attrs.strings(name) : Strings{}; }

std::map<std::string, std::int64_t> given_sizes(const Attrs& attrs) {
  std::map<std::string, std::int64_t> sizes;
  Strings names = names_in(attrs, "factor_names");
  for (std::size_t i = 0; i < names.size(); ++i) sizes[names[i]] = attrs.integers("factor_sizes").at(i);
  return sizes;
}

struct KindList {
  std::string_view name;
  FactorKind kind;
};
constexpr KindList kKindLists[] = {{"reduction_factors", FactorKind::kReduce},
                                   {"need_replication_factors", FactorKind::kReplicate},
                                   {"permutation_factors", FactorKind::kPermute}};

// Which names the rule uses, and whether each is a whole dimension somewhere.
std::map<std::string, bool> used_factors(const RuleText& rule) {
  std::map<std::string, bool> used;
  for (const TensorText* tensor : rule.all())
    for (const Dim& dim : tensor->dims)
      for (const std::string& name : dim) used[name] |= dim.size() == 1;
  return used;
}

void check_names(const RuleText& rule, const Attrs& attrs) {
  std::map<std::string, bool> used = used_factors(rule);
  auto sizes = given_sizes(attrs);
  for (const auto& [name, size] : sizes)
    if (!used.contains(name)) throw_user_error("Factor {} is not used in the rule, but size is provided", name);
  for (const auto& [name, is_whole] : used) {
    if (!is_whole && !sizes.contains(name)) throw_user_error("Factor {} is only used in compound factors; must specify its size", name);
    if (is_whole && sizes.contains(name)) throw_user_error("Factor {} represents a whole dimension; do not specify its size", name);
  }
  std::set<std::string> special;
  for (const KindList& list : kKindLists) {
    Strings names = names_in(attrs, list.name);
    if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
      throw_user_error("{} contains duplicated factors", list.name);
    for (const std::string& name : names) {
      if (!used.contains(name)) throw_user_error("Factor {} in {} is not used in the rule", name, list.name);
      if (!special.insert(name).second)
        throw_user_error("Factor {} can only be in one of the reduction, need replication, or permutation factor sets.", name);
    }
  }
}

// The rule's factors for given types, by name; "?group_i" are those of an ellipsis.
class Binder {
 public:
  Binder(const RuleText& rule, const Attrs& attrs, std::vector<TensorType> types)
      : tensors_(rule.all()), types_(std::move(types)), operands_(rule.operands.size()), sizes_(given_sizes(attrs)) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) expand_ellipsis(i);
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      for (std::size_t d = 0; d < dims_[i].size(); ++d) add_dim(dims_[i][d], types_[i].shape[d]);
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      for (std::size_t d = 0; d < dims_[i].size(); ++d) check_compound(i, d);
  }

  FactorRule rule(const Attrs& attrs) const {
    FactorRule rule({types_.begin(), types_.begin() + std::ptrdiff_t(operands_)},
                    {types_.begin() + std::ptrdiff_t(operands_), types_.end()});
    for (const std::string& name : order_) rule.factors.push_back({size_.at(name)});
    for (const KindList& list : kKindLists)
      for (const std::string& name : names_in(attrs, list.name)) rule.factors[std::size_t(index_.at(name))].kind = list.kind;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      FactorRule::TensorMap& map = i < operands_ ? rule.operands[i] : rule.results[i - operands_];
      for (std::size_t d = 0; d < dims_[i].size(); ++d)
        for (const std::string& name : dims_[i][d]) map[d].push_back(index_.at(name));
    }
    return rule;
  }

 private:
  std::string which(std::size_t i) const {
    return i < operands_ ? fmt::format("{}th operand", i) : fmt::format("{}th result", i - operands_);
  }

  void expand_ellipsis(std::size_t i) {
    const TensorText& tensor = *tensors_[i];
    std::size_t named = tensor.dims.size(), rank = types_[i].shape.size(), batch = 0;
    if (tensor.batch) {
      batch = rank >= named ? rank - named : 0;
      auto [known, is_new] = batch_ranks_.try_emplace(*tensor.batch, batch);
      if (!is_new && known->second != batch)
        throw_user_error("Ellipsis represents different number of leading dimensions {} and {}", known->second, batch);
    }
    if (named + batch != rank)
      throw_user_error("Sharding rule {0} has rank {1}, but the operation {0} has rank {2}", which(i), named + batch, rank);
    std::vector<Dim> dims;
    for (std::size_t d = 0; d < batch; ++d) dims.push_back({fmt::format("?{}_{}", *tensor.batch, d)});
    dims.insert(dims.end(), tensor.dims.begin(), tensor.dims.end());
    dims_.push_back(std::move(dims));
  }

  void add_dim(const Dim& dim, std::int64_t extent) {
    for (const std::string& name : dim) {
      if (index_.try_emplace(name, int(order_.size())).second) order_.push_back(name);
      if (auto given = sizes_.find(name); given != sizes_.end()) size_[name] = given->second;
    }
    if (dim.size() > 1) return;
    auto [known, is_new] = size_.try_emplace(dim[0], extent);
    if (is_new || known->second == extent) return;
    if (dim[0][0] == '?')
      throw_user_error("Batching dimension {} corresponds to two sizes: {} and {}", dim[0].substr(1), known->second, extent);
    known->second = std::min(known->second, extent);
  }

  void check_compound(std::size_t i, std::size_t d) const {
    const Dim& dim = dims_[i][d];
    if (dim.size() == 1) return;
    std::int64_t product = 1;
    for (const std::string& name : dim) product *= size_.at(name);
    if (product != types_[i].shape[d])
      throw_user_error("{} actual size {} doesn't match the size {} derived from the compound factors ({})", which(i), types_[i].shape[d],
                       product, fmt::join(dim, ", "));
  }

  std::vector<const TensorText*> tensors_;
  std::vector<TensorType> types_;
  std::size_t operands_;
  std::map<std::string, std::int64_t> sizes_;
  std::vector<std::vector<Dim>> dims_;  // per tensor, without ellipsis
  std::map<std::string, std::size_t> batch_ranks_;
  Strings order_;
  std::map<std::string, int> index_;
  std::map<std::string, std::int64_t> size_;
};

// An empty side names one scalar; it stands for no tensor where there are none.
void check_count(std::vector<TensorText>& texts, std::size_t count, std::string_view what) {
  if (count == 0 && texts.size() == 1 && texts[0].dims.empty() && !texts[0].batch) texts.clear();
  if (texts.size() != count) throw_user_error("Sharding rule has {} {}, but the operation has {} {}", texts.size(), what, count, what);
}

}  // namespace

FactorRule partition_rule(const Attrs& attrs, const std::vector<TensorType>& operands, const std::vector<TensorType>& results) {
  RuleText text = read_rule(attrs.string("sharding_rule"));
  check_names(text, attrs);
  check_count(text.operands, operands.size(), "operands");
  check_count(text.results, results.size(), "results");
  std::vector<TensorType> types = operands;
  types.insert(types.end(), results.begin(), results.end());
  return Binder(text, attrs, std::move(types)).rule(attrs);
}

std::vector<std::string> dropped_factors(const Attrs& attrs) {
  RuleText text = read_rule(attrs.string("sharding_rule"));
  std::set<std::string> kept;
  for (const TensorText& tensor : text.results)
    for (const Dim& dim : tensor.dims) kept.insert(dim.begin(), dim.end());
  for (const KindList& list : kKindLists)
    for (const std::string& name : names_in(attrs, list.name)) kept.insert(name);
  Strings dropped;
  for (const TensorText& tensor : text.operands)
    for (const Dim& dim : tensor.dims)
      for (const std::string& name : dim)
        if (kept.insert(name).second) dropped.push_back(name);
  return dropped;
}

}  // namespace shardlab::ops
