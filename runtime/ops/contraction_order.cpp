#include "runtime/ops/contraction_order.h"

#include <limits>
#include <set>

namespace shardlab::ops {
namespace {

using Names = std::set<char>;

constexpr std::size_t kOperandsMax = 7;  // 56,700 orders

// Numbers operands and the results of contractions as they come up, so that a number never changes its meaning.
class Orders {
 public:
  Orders(const std::vector<std::string>& names, const std::string& result, const std::map<char, std::int64_t>& sizes)
      : result_(result.begin(), result.end()), sizes_(sizes) {
    for (const std::string& each : names) {
      remaining_.push_back(values_.size());
      values_.emplace_back(each.begin(), each.end());
    }
  }

  std::vector<std::pair<std::size_t, std::size_t>> run() {
    if (remaining_.size() > kOperandsMax)
      while (remaining_.size() > 1) contract_cheapest();
    else
      search(0);
    return places(best_.empty() ? path_ : best_);
  }

 private:
  using Pair = std::pair<std::size_t, std::size_t>;  // of numbers

  Names kept_of(const Pair& pair) const {
    Names needed = result_, kept;
    for (std::size_t each : remaining_)
      if (each != pair.first && each != pair.second) needed.insert(values_[each].begin(), values_[each].end());
    for (std::size_t side : {pair.first, pair.second})
      for (char name : values_[side])
        if (needed.count(name) > 0) kept.insert(name);
    return kept;
  }

  // Multiplications, and as many additions where a dimension of both is summed over.
  double cost_of(const Pair& pair, const Names& kept) const {
    Names all = values_[pair.first];
    all.insert(values_[pair.second].begin(), values_[pair.second].end());
    double cost = 1;
    for (char name : all) cost *= double(sizes_.at(name));
    for (char name : values_[pair.first])
      if (values_[pair.second].count(name) > 0 && kept.count(name) == 0) return 2 * cost;
    return cost;
  }

  void contract_cheapest() {
    const Pair pair = cheapest_pair();
    contract(pair, kept_of(pair));
  }

  Pair cheapest_pair() const {
    Pair best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < remaining_.size(); ++i)
      for (std::size_t j = i + 1; j < remaining_.size(); ++j) {
        Pair pair{remaining_[i], remaining_[j]};
        if (double cost = cost_of(pair, kept_of(pair)); cost < least) {
          least = cost;
          best = pair;
        }
      }
    return best;
  }

  struct Contraction {
    Names kept;
    double cost = 0;
  };

  // Known by the names of both alone, as in opt_einsum: what else was left when they were met first decides which are kept, also where
  // less is left later. So of orders that cost the same it may take another one than the first.
  const Contraction& contraction_of(const Pair& pair) {
    const auto [known, is_new] = known_.try_emplace({values_[pair.first], values_[pair.second]});
    if (is_new) {
      known->second.kept = kept_of(pair);
      known->second.cost = cost_of(pair, known->second.kept);
    }
    return known->second;
  }

  void contract(const Pair& pair, Names kept) {
    std::erase_if(remaining_, [&](std::size_t each) { return each == pair.first || each == pair.second; });
    remaining_.push_back(values_.size());
    values_.push_back(std::move(kept));
    path_.push_back(pair);
  }

  void search(double cost) {
    if (remaining_.size() == 1) {
      least_ = cost;
      best_ = path_;
      return;
    }
    const std::vector<std::size_t> before = remaining_;
    for (std::size_t i = 0; i < before.size(); ++i)
      for (std::size_t j = i + 1; j < before.size(); ++j) {
        Pair pair{before[i], before[j]};
        const Contraction& contraction = contraction_of(pair);
        const double next = cost + contraction.cost;
        if (next >= least_) continue;
        contract(pair, contraction.kept);
        search(next);
        remaining_ = before;
        values_.pop_back();
        path_.pop_back();
      }
  }

  // From numbers to places in the list of what is left.
  std::vector<Pair> places(const std::vector<Pair>& numbers) const {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i <= numbers.size(); ++i) list.push_back(i);
    std::vector<Pair> result;
    for (const Pair& pair : numbers) {
      auto place_of = [&](std::size_t number) {
        std::size_t place = 0;
        while (list[place] != number) ++place;
        return place;
      };
      result.emplace_back(place_of(pair.first), place_of(pair.second));
      std::erase_if(list, [&](std::size_t each) { return each == pair.first || each == pair.second; });
      list.push_back(numbers.size() + 1 + result.size() - 1);
    }
    return result;
  }

  Names result_;
  const std::map<char, std::int64_t>& sizes_;
  std::vector<Names> values_;           // by number
  std::vector<std::size_t> remaining_;  // numbers, ascending
  std::vector<Pair> path_, best_;
  std::map<std::pair<Names, Names>, Contraction> known_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> contraction_order(const std::vector<std::string>& names, const std::string& result,
                                                                   const std::map<char, std::int64_t>& sizes) {
  return Orders(names, result, sizes).run();
}

}  // namespace shardlab::ops
