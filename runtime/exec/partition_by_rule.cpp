#include "runtime/exec/partition_by_rule.h"

#include <algorithm>

namespace shardlab {
namespace {

class RulePlan {
 public:
  RulePlan(const FactorRule& rule, const PartitionRequest& request) : rule_(rule), request_(request), axes_(rule.factors.size()) {
    for (std::size_t i = 0; i < rule.operands.size(); ++i) tensors_.push_back({&rule.operands[i], &request.args[i]});
    for (std::size_t i = 0; i < rule.results.size(); ++i) tensors_.push_back({&rule.results[i], &request.results[i]});
  }

  PartitionByRule run() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) collect(i);
    move_from_whole_factors();
    PartitionByRule out;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      (i < rule_.operands.size() ? out.arg_shardings : out.result_shardings).emplace_back(request_.mesh, spec_of(i));
    for (std::size_t f = 0; f < axes_.size(); ++f)
      if (rule_.factors[f].kind == FactorKind::kReduce)
        for (const AxisPiece& piece : axes_[f]) out.reduced_over.push_back(request_.mesh.axis_names()[std::size_t(piece.axis)]);
    return out;
  }

 private:
  struct Tensor {
    const FactorRule::TensorMap* map;
    const TensorType* type;
  };

  const Sharding& sharding(std::size_t i) const {
    std::size_t operands = rule_.operands.size();
    return i < operands ? request_.arg_shardings[i] : request_.result_shardings[i - operands];
  }

  bool is_used(const AxisPiece& piece) const {
    return std::any_of(axes_.begin(), axes_.end(), [&](const Axes& axes) {
      return std::any_of(axes.begin(), axes.end(), [&](const AxisPiece& other) { return overlaps(piece, other); });
    });
  }

  // Whether every dimension with this factor stays evenly cut, in blocks, with the piece added: a minor factor only under majors in full.
  bool fits(std::size_t f, const AxisPiece& piece) const {
    std::int64_t parts = part_count(axes_[f]) * piece.size;
    if (rule_.factors[f].size % parts != 0) return false;
    for (const Tensor& tensor : tensors_)
      for (std::size_t d = 0; d < tensor.map->size(); ++d) {
        const std::vector<int>& factors = (*tensor.map)[d];
        auto found = std::find(factors.begin(), factors.end(), int(f));
        if (found == factors.end()) continue;
        std::int64_t before = 1;
        for (auto each = factors.begin(); each != found; ++each) {
          if (part_count(axes_[std::size_t(*each)]) != rule_.factors[std::size_t(*each)].size) return false;
          before *= rule_.factors[std::size_t(*each)].size;
        }
        if (tensor.type->shape[d] % (before * parts) != 0) return false;
      }
    return true;
  }

  // A reduced factor is combined by a sum over axes, which names whole ones.
  bool may_hold(std::size_t f, const AxisPiece& piece) const {
    return rule_.factors[f].kind != FactorKind::kReduce || piece == request_.mesh.whole_axis(piece.axis);
  }

  void collect(std::size_t i) {
    Spec spec = sharding(i).spec(tensors_[i].type->rank());
    for (std::size_t d = 0; d < spec.size(); ++d) {
      const std::vector<int>& factors = (*tensors_[i].map)[d];
      std::size_t at = 0;
      for (const AxisPiece& piece : spec[d]) {
        if (is_used(piece)) break;
        while (at < factors.size() && !fits(std::size_t(factors[at]), piece)) ++at;
        if (at == factors.size() || !may_hold(std::size_t(factors[at]), piece)) break;
        axes_[std::size_t(factors[at])].push_back(piece);
      }
    }
  }

  bool is_on_all_tensors(std::size_t f) const {
    return std::all_of(tensors_.begin(), tensors_.end(), [&](const Tensor& tensor) {
      return std::any_of(tensor.map->begin(), tensor.map->end(), [&](const std::vector<int>& factors) {
        return std::find(factors.begin(), factors.end(), int(f)) != factors.end();
      });
    });
  }

  void move_from_whole_factors() {
    Axes freed;
    for (std::size_t f = 0; f < axes_.size(); ++f) {
      FactorKind kind = rule_.factors[f].kind;
      if (kind != FactorKind::kReplicate && kind != FactorKind::kPermute) continue;
      freed.insert(freed.end(), axes_[f].begin(), axes_[f].end());
      axes_[f].clear();
    }
    for (const AxisPiece& piece : freed) {
      int best = -1;
      std::int64_t most = 0;
      for (std::size_t f = 0; f < axes_.size(); ++f) {
        std::int64_t left = rule_.factors[f].size / part_count(axes_[f]);
        if (rule_.factors[f].kind != FactorKind::kPass || left <= most || !is_on_all_tensors(f) || !fits(f, piece)) continue;
        best = int(f);
        most = left;
      }
      if (best >= 0) axes_[std::size_t(best)].push_back(piece);
    }
  }

  Spec spec_of(std::size_t i) const {
    Spec spec;
    for (const std::vector<int>& factors : *tensors_[i].map) {
      Axes axes;
      for (int f : factors)
        for (const AxisPiece& piece : axes_[std::size_t(f)]) push(axes, piece);
      spec.push_back(std::move(axes));
    }
    return spec;
  }

  const FactorRule& rule_;
  const PartitionRequest& request_;
  std::vector<Tensor> tensors_;  // operands, then results
  std::vector<Axes> axes_;       // per factor
};

}  // namespace

PartitionByRule partition_by_rule(const FactorRule& rule, const PartitionRequest& request) { return RulePlan(rule, request).run(); }

}  // namespace shardlab
