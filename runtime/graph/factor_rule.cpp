#include "runtime/graph/factor_rule.h"

#include <fmt/ranges.h>

namespace shardlab {
namespace {

std::string factor_name(int factor) {
  static constexpr std::string_view kLetters = "ijklmnopqrstuvwxyzabcdefgh";
  int letters = int(kLetters.size());
  std::string name(1, kLetters[std::size_t(factor % letters)]);
  return factor < letters ? name : fmt::format("{}{}", name, factor / letters);
}

std::string tensor_text(const FactorRule::TensorMap& map) {
  std::vector<std::string> dims;
  for (const auto& factors : map) {
    std::string text;
    for (int factor : factors) text += factor_name(factor);
    dims.push_back(text.empty() ? "1" : text);
  }
  return fmt::format("[{}]", fmt::join(dims, " "));
}

}  // namespace

FactorRule::FactorRule(const std::vector<TensorType>& operand_types, const std::vector<TensorType>& result_types) : present(true) {
  for (const TensorType& type : operand_types) operands.emplace_back(type.shape.size());
  for (const TensorType& type : result_types) results.emplace_back(type.shape.size());
}

int FactorRule::add(std::int64_t size, const std::vector<int>& operand_dims, const std::vector<int>& result_dims, FactorKind kind,
                    bool blocked) {
  int factor = int(factors.size());
  factors.push_back({size, kind, blocked});
  for (std::size_t i = 0; i < operand_dims.size(); ++i)
    if (operand_dims[i] >= 0) operands[i][std::size_t(operand_dims[i])].push_back(factor);
  for (std::size_t i = 0; i < result_dims.size(); ++i)
    if (result_dims[i] >= 0) results[i][std::size_t(result_dims[i])].push_back(factor);
  return factor;
}

void FactorRule::fill(const std::vector<TensorType>& operand_types, const std::vector<TensorType>& result_types) {
  auto fill_tensor = [&](TensorMap& map, const TensorType& type) {
    for (std::size_t d = 0; d < map.size(); ++d) {
      if (!map[d].empty()) continue;
      map[d].push_back(int(factors.size()));
      factors.push_back({type.shape[d], FactorKind::kPass, false});
    }
  };
  for (std::size_t i = 0; i < operands.size(); ++i) fill_tensor(operands[i], operand_types[i]);
  for (std::size_t i = 0; i < results.size(); ++i) fill_tensor(results[i], result_types[i]);
}

std::string FactorRule::text() const {
  if (!present) return "none";
  std::string text = "{";
  for (std::size_t f = 0; f < factors.size(); ++f) {
    static constexpr std::string_view kKinds[] = {"", " reduced", " whole", " permuted"};
    text += fmt::format("{}{}={}{}{}", f ? ", " : "", factor_name(int(f)), factors[f].size, kKinds[std::size_t(factors[f].kind)],
                        factors[f].blocked ? " blocked" : "");
  }
  text += "} ";
  auto tensors_text = [](const std::vector<TensorMap>& maps) {
    std::vector<std::string> texts;
    for (const TensorMap& map : maps) texts.push_back(tensor_text(map));
    return fmt::format("{}", fmt::join(texts, ","));
  };
  return fmt::format("{}{}->{}", text, tensors_text(operands), tensors_text(results));
}

}  // namespace shardlab
