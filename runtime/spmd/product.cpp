#include "runtime/spmd/product.h"

#include <algorithm>
#include <numeric>

#include "runtime/spmd/layout.h"
#include "runtime/spmd/product_tensor.h"

namespace shardlab::spmd {
namespace {

struct Product {
  ProductTensor left, right, result;
  Digits group;  // the digits in which its devices differ
};

class Partitioner : DigitSizes {
 public:
  // `has_windows`: the right tensor slides over the left one. What the others want of a kernel XLA does not look at.
  // `beside_batch`: what is in one dimension of a tensor with a part of the batch, as what groups hold is.
  Partitioner(std::vector<std::int64_t> digit_sizes, bool has_windows, Dims batch, Dims contracted, Dims left, Dims right,
              Dims beside_batch)
      : DigitSizes(std::move(digit_sizes)),
        has_windows_(has_windows),
        batch_(std::move(batch)),
        contracted_(std::move(contracted)),
        left_(std::move(left)),
        right_(std::move(right)),
        beside_batch_(std::move(beside_batch)) {}

  Parts run(const Product& p) const {
    for (bool must_match : {true, false})
      if (auto parts = attempt(p, must_match)) return *parts;
    return cut_as(p.result, p.result.order);  // operands follow the result
  }

 private:
  // `must_match`: groups of devices must be the same in all tensors already.
  std::optional<Parts> attempt(const Product& p, bool must_match) const {
    if (auto parts = at_once(p, false)) return parts;
    if (auto parts = grouped_by_batch(p, must_match)) return parts;
    if (auto parts = grouped_by_result(p, must_match)) return parts;
    if (auto parts = grouped_by_contraction(p, must_match)) return parts;
    if (auto parts = without_repetition(p)) return parts;
    return at_once(p, true);
  }

  // All devices along one kind of dimensions.
  std::optional<Parts> at_once(const Product& p, bool may_follow_result) const {
    const auto& [l, r, o, group] = p;
    const std::int64_t n = count(group), result_parts = count(o.all());
    if (result_parts > 1 && result_parts < n) return std::nullopt;
    auto is_all = [&](const ProductTensor& t, const Dims& dims) { return parts(t, dims) == n; };
    if (is_all(l, batch_) && is_all(r, batch_) && (has_windows_ || l.is_cut_as(r, batch_))) return cut_as(l, batch_);
    for (const ProductTensor* t : {&l, &r})
      if (is_all(*t, batch_) && is_all(o, batch_) && t->is_cut_as(o, batch_)) return cut_as(o, batch_);
    if (is_all(l, contracted_) && is_all(r, contracted_) && (may_follow_result || result_parts == 1 || result_parts == n))
      return cut_as(l, contracted_);
    if (is_all(l, left_) && is_all(o, left_) && l.is_cut_as(o, left_)) return cut_as(o, left_);
    if (is_all(r, right_) && is_all(o, right_) && r.is_cut_as(o, right_)) return cut_as(o, right_);
    for (const Dims* dims : {&batch_, &left_, &right_})
      if (may_follow_result && is_all(o, *dims)) return cut_as(o, *dims);
    if (result_parts > 1 || has_windows_) return std::nullopt;
    // A sum over devices where the result is less than what would be gathered; XLA gathers kernels.
    if (is_all(r, contracted_) && count(l.all()) == 1 && r.elements() > o.elements()) return cut_as(r, contracted_);
    if (is_all(l, contracted_) && count(r.all()) == 1 && l.elements() > o.elements()) return cut_as(l, contracted_);
    return std::nullopt;
  }

  std::optional<Parts> within(const Product& inner, Parts outer) const {
    const Parts parts = run(inner);
    for (std::size_t d = 0; d < parts.size(); ++d) outer[d] *= parts[d];
    return outer;
  }

  std::optional<Parts> grouped_by_batch(const Product& p, bool must_match) const {
    const auto& [l, r, o, group] = p;
    const std::int64_t wanted = parts(o, batch_);
    // Of a convolution in groups that are cut alone one tensor is moved to where the other's are, however the result lies.
    const std::int64_t in_left = parts(l, batch_), in_right = parts(r, batch_);
    if (has_windows_ && wanted == 1 && in_left > 1 && in_right > 1 && parts(l, beside_batch_) == 1 && parts(r, beside_batch_) == 1)
      return cut_as(in_left < in_right ? r : l, batch_);
    if (wanted == 1 || (parts(l, batch_) != wanted && parts(r, batch_) != wanted)) return std::nullopt;
    const bool is_matched = std::all_of(batch_.begin(), batch_.end(), [&](int d) {
      const Digits &a = l.cuts[std::size_t(d)], &b = r.cuts[std::size_t(d)];
      return must_match ? a == b : count(a) == count(b);
    });
    const ProductTensor& leader = !is_matched ? o : part_elements(l) > part_elements(r) ? l : r;
    const Digits taken = leader.along(batch_), order = inner_order(part(leader, batch_), without(group, taken));
    Product inner{l, r, o, without(group, taken)};
    for (ProductTensor* t : {&inner.left, &inner.right, &inner.result}) {
      const Digits own = t->along(batch_);
      const bool is_there = count(own) == count(taken);
      if (must_match && !is_matched && is_there && t != &inner.result && own != taken) return std::nullopt;
      if (!is_there && !t->all().empty()) {
        if (must_match || !make_room(*t, p, t == &inner.left, count(own), count(taken))) return std::nullopt;
      }
      if (!is_there)
        for (int d : batch_) t->cuts[std::size_t(d)] = leader.cuts[std::size_t(d)];
      *t = regrouped(part(std::move(*t), batch_), group, is_there ? own : Digits{}, taken, order);
    }
    return within(inner, cut_as(leader, batch_));
  }

  // Gathers an operand along other dimensions where devices are too few for the batch's parts.
  bool make_room(ProductTensor& t, const Product& p, bool is_left, std::int64_t own, std::int64_t wanted) const {
    const std::int64_t n = count(p.group), used = count(t.all()), repeated = n / used;
    const std::int64_t needed = used / own * wanted * repeated;
    if (needed < n || needed % n != 0) return false;
    const std::int64_t ratio = needed / n;
    const Dims& free = is_left ? left_ : right_;
    if (ratio == 1 || (repeated > 1 && repeated % ratio == 0)) return true;
    if (ratio == parts(t, free) &&
        (ratio != parts(t, contracted_) || parts(t, contracted_) == parts(is_left ? p.right : p.left, contracted_))) {
      t.clear(free);
      return true;
    }
    if (ratio != parts(t, contracted_)) return false;
    t.clear(contracted_);
    return true;
  }

  std::optional<Parts> grouped_by_result(const Product& p, bool must_match) const {
    const auto& [l, r, o, group] = p;
    const std::int64_t in_left = parts(l, left_), in_right = parts(r, right_);
    const bool may_left = in_left > 1 && in_left == parts(o, left_), may_right = in_right > 1 && in_right == parts(o, right_);
    auto alike_of = [&](const ProductTensor& t, Dims dims) {
      std::erase_if(dims, [&](int d) {
        const std::int64_t cut = count(t.cuts[std::size_t(d)]);
        return cut == 1 || cut != count(o.cuts[std::size_t(d)]);
      });
      return dims;
    };
    bool by_left = true;
    Dims dims;
    if (may_left || may_right) {  // the one that repeats less of the other operand
      by_left = may_left && (!may_right || double(in_left) * part_elements(r) < double(in_right) * part_elements(l));
      dims = by_left ? left_ : right_;
    } else if (in_left > 1 && parts(o, left_) > 1) {
      dims = alike_of(l, left_);
    } else if (in_right > 1 && parts(o, right_) > 1) {
      by_left = false;
      dims = alike_of(r, right_);
    }
    if (dims.empty()) return std::nullopt;
    const ProductTensor &leader = by_left ? l : r, &other = by_left ? r : l;
    const Digits taken = o.along(dims), own = leader.along(dims);
    if (must_match && own != taken) return std::nullopt;
    std::optional<ProductTensor> moved = other_in_groups(p, leader, other, by_left, taken);
    if (!moved && !other.all().empty() && !has_windows_)
      moved = other_in_groups(p, leader, as_others_want(p, leader, other, by_left), by_left, taken);
    if (!moved) {
      moved = other;
      moved->clear(other.order);
    }
    const ProductTensor result = part(o, dims);
    const ProductTensor led = regrouped(part(leader, dims), group, own, taken, inner_order(result, without(group, taken)));
    const Product inner{by_left ? led : *moved, by_left ? *moved : led, result, without(group, taken)};
    return within(inner, cut_as(o, dims));
  }

  // The operand cut as the result and the other operand would have it.
  ProductTensor as_others_want(const Product& p, const ProductTensor& leader, ProductTensor other, bool by_left) const {
    Digits used;
    for (const Dims* dims : {&batch_, by_left ? &right_ : &left_})
      for (int d : *dims) {
        other.cuts[std::size_t(d)] = p.result.cuts[std::size_t(d)];
        used.insert(used.end(), other.cuts[std::size_t(d)].begin(), other.cuts[std::size_t(d)].end());
      }
    for (const Dims* dims : {&batch_, &contracted_})
      for (int d : *dims) {
        Digits& cut = other.cuts[std::size_t(d)];
        if (dims == &contracted_ || cut.empty()) cut = without(leader.cuts[std::size_t(d)], used);
        used.insert(used.end(), cut.begin(), cut.end());
      }
    return other;
  }

  // The dimensions that make a tensor's groups where XLA sees it: those along which the first two devices of a group lie alike, the
  // repetition by idle digits among them. (Source: FindMatchingPartitionedDimsForGrouping in spmd_partitioner_util.cc.)
  static std::optional<Dims> dims_of_groups(const ProductTensor& t, const Digits& idle, const Digits& taken, const Digits& order) {
    auto differs = [&](const Digits& digits) { return !order.empty() && has(digits, order.back()); };
    Dims dims = t.order;
    std::erase_if(dims, [&](int d) { return t.cuts[std::size_t(d)].empty() || differs(t.cuts[std::size_t(d)]); });
    Digits alike = t.along(dims);
    if (!differs(idle)) alike.insert(alike.end(), idle.begin(), idle.end());
    if (alike.size() != taken.size() || !has_all(alike, taken)) return std::nullopt;
    return dims;
  }

  // The operand that lacks the dimensions of the groups, where it can be grouped too; it is repeated in each group then.
  std::optional<ProductTensor> other_in_groups(const Product& p, const ProductTensor& leader, ProductTensor other, bool by_left,
                                               const Digits& taken) const {
    const Digits used = other.all(), idle = without(p.group, used);
    const std::int64_t groups = count(taken), repeated = count(idle);
    const Digits order = without(inner_order(p.result, p.group), taken);
    if (used.empty()) return other;
    if (repeated > 1 && repeated % groups == 0) {
      if (!has_all(idle, taken))
        for (auto d = other.order.rbegin(); d != other.order.rend(); ++d)
          if (Digits& cut = other.cuts[std::size_t(*d)]; has_all(cut, taken)) {  // idle digits cut it in their place
            cut = idle;
            return other;
          }
      return regrouped(std::move(other), p.group, major(idle, groups), taken, order);
    }
    if (const std::optional<Dims> in_groups = dims_of_groups(other, idle, taken, order)) {
      other.clear(*in_groups);
      return other;
    }
    const Dims& free = by_left ? right_ : left_;
    const std::int64_t along_free = parts(other, free), along_contraction = parts(other, contracted_);
    const bool may_contracted = along_contraction == groups && along_free == parts(p.result, free);
    const bool may_free = along_free == groups && parts(leader, contracted_) == along_contraction;
    if (!may_contracted && !may_free) return std::nullopt;
    const bool by_contracted = may_contracted && (!may_free || part_elements(other) <= part_elements(p.result));
    const Dims& gathered = by_contracted ? contracted_ : free;
    const Digits freed = other.along(gathered);
    other.clear(gathered);
    return regrouped(std::move(other), p.group, freed, taken, order);
  }

  std::optional<Parts> grouped_by_contraction(const Product& p, bool must_match) const {
    const auto& [l, r, o, group] = p;
    const std::int64_t in_left = parts(l, contracted_), in_right = parts(r, contracted_);
    if (in_left == 1 || in_right == 1) return std::nullopt;
    Dims dims = contracted_;
    if (in_left != in_right)
      std::erase_if(dims, [&](int d) {
        const std::int64_t cut = count(l.cuts[std::size_t(d)]);
        return cut == 1 || cut != count(r.cuts[std::size_t(d)]);
      });
    if (dims.empty() || (must_match && !l.is_cut_as(r, dims))) return std::nullopt;
    const bool leads_left = part_elements(l) > part_elements(r);
    const ProductTensor &leader = leads_left ? l : r, &other = leads_left ? r : l;
    const Digits taken = leader.along(dims);
    const ProductTensor led = part(leader, dims);
    const Digits order = inner_order(led, without(group, taken));
    const ProductTensor moved = regrouped(part(other, dims), group, other.along(dims), taken, order);
    const Product inner{leads_left ? led : moved, leads_left ? moved : led, result_in_sums(p, taken, order), without(group, taken)};
    return within(inner, cut_as(leader, dims));
  }

  // How the partial results of groups along the contraction lie: as the result, where that leaves the groups idle or gets its parts of the
  // sum by them.
  ProductTensor result_in_sums(const Product& p, const Digits& taken, const Digits& order) const {
    ProductTensor o = p.result;
    const Digits idle = without(p.group, o.all());
    const std::int64_t groups = count(taken), repeated = count(idle);
    if (repeated == count(p.group)) return o;
    if (repeated > 1 && repeated % groups == 0) return regrouped(std::move(o), p.group, major(idle, groups), taken, order);
    Dims in_groups;
    if (const std::optional<Dims> found = dims_of_groups(o, idle, taken, order)) {
      in_groups = *found;
    } else {
      for (const Dims* dims : {&left_, &right_, &batch_})
        if (in_groups.empty() && parts(o, *dims) == groups) in_groups = *dims;
    }
    const Digits freed = o.along(in_groups);
    o.clear(in_groups.empty() ? o.order : in_groups);
    return regrouped(std::move(o), p.group, freed, taken, order);
  }

  // Whole operands of a result that some devices repeat: as if there were no others.
  std::optional<Parts> without_repetition(const Product& p) const {
    const Digits cut = p.result.all();
    if (!p.left.all().empty() || !p.right.all().empty() || cut.empty() || count(cut) == count(p.group)) return std::nullopt;
    return run({p.left, p.right, p.result, cut});
  }

  bool has_windows_;
  Dims batch_, contracted_, left_, right_, beside_batch_;
};

// The atoms cut further into digits of prime size: whoever takes another's place may be a part of an axis.
Axes prime_digits(const Axes& atoms) {
  Axes digits;
  for (AxisPiece atom : atoms)
    for (std::int64_t left = atom.size, prime = 2; left > 1;) {
      while (left % prime != 0) ++prime;
      AxisPiece digit = atom;
      digit.size = prime;
      digits.push_back(digit);
      atom.pre *= prime;
      left /= prime;
    }
  return digits;
}

// The digits of the pieces, as numbers of atoms; nothing where a piece is no sequence of them.
std::optional<Digits> digits_of(const Axes& pieces, const Axes& atoms) {
  const std::optional<Axes> split = split_into(pieces, atoms);
  if (!split) return std::nullopt;
  Digits digits;
  for (const AxisPiece& piece : *split) digits.push_back(int(std::find(atoms.begin(), atoms.end(), piece) - atoms.begin()));
  return digits;
}

// Whether one of the dimension's factors is a window's: the others are places that it is put to.
bool is_walked(const FactorRule& rule, const std::vector<int>& dim) {
  return dim.size() > 1 && std::any_of(dim.begin(), dim.end(), [&](int f) {
           const Factor& factor = rule.factors[std::size_t(f)];
           return factor.kind == FactorKind::kReduce && factor.size > 1;
         });
}

// Cut within its factors, and not along windows.
std::optional<ProductTensor> tensor_of(const OpShape& op, const FactorRule::TensorMap& map, const Shape& shape, const Spec& form,
                                       const Axes& atoms) {
  const std::size_t factors = op.rule.factors.size();
  ProductTensor t{{}, std::vector<Digits>(factors), Parts(factors, 1)};
  for (std::size_t d = 0; d < map.size(); ++d) {
    if (!form[d].empty() && is_walked(op.rule, map[d])) return std::nullopt;
    for (int factor : map[d]) {
      t.order.push_back(factor);
      t.sizes[std::size_t(factor)] = op.rule.factors[std::size_t(factor)].size;
    }
    std::int64_t places = 1;
    for (int factor : map[d]) places *= t.sizes[std::size_t(factor)];
    if (places != shape[d])  // windows see fewer elements, or more, than there are places
      for (int factor : map[d]) t.sizes[std::size_t(factor)] = factor == map[d][0] ? shape[d] : 1;
  }
  for (const FactorSharding& sharding : project(form, map, op.rule.factors)) {
    const std::optional<Digits> digits = digits_of(sharding.axes, atoms);
    if (!digits || !sharding.overflow.empty()) return std::nullopt;
    t.cuts[std::size_t(sharding.factor)] = *digits;
  }
  return t;
}

// Whether the right operand has a factor that is summed and the left one's dimensions do not show: a window's elements.
bool has_windows(const FactorRule& rule) {
  auto holds = [](const FactorRule::TensorMap& map, int f) {
    return std::any_of(map.begin(), map.end(), [&](const auto& dim) { return std::find(dim.begin(), dim.end(), f) != dim.end(); });
  };
  for (int f = 0; f < int(rule.factors.size()); ++f)
    if (rule.factors[std::size_t(f)].size > 1 && rule.factors[std::size_t(f)].kind == FactorKind::kReduce && holds(rule.operands[1], f) &&
        !holds(rule.operands[0], f))
      return true;
  return false;
}

Dims beside_batch(const FactorRule& rule, const Dims& batch) {
  Dims found;
  for (const FactorRule::TensorMap& map : rule.operands)
    for (const std::vector<int>& dim : map)
      if (std::any_of(dim.begin(), dim.end(), [&](int f) { return has(batch, f); }))
        std::copy_if(dim.begin(), dim.end(), std::back_inserter(found), [&](int f) { return !has(batch, f) && !has(found, f); });
  return found;
}

bool has_looked_up(const OpShape& op) { return std::find(op.looked_up.begin(), op.looked_up.end(), true) != op.looked_up.end(); }

}  // namespace

std::optional<std::vector<std::int64_t>> parts_of_product(const OpShape& op, const std::vector<Shape>& shapes,
                                                          const std::vector<Spec>& forms, const Axes& atoms_of_mesh, bool may_sum) {
  const FactorRule& rule = op.rule;
  const Axes atoms = prime_digits(atoms_of_mesh);
  if (rule.operands.size() != 2 || rule.results.size() != 1 || has_looked_up(op)) return std::nullopt;
  std::vector<ProductTensor> tensors;
  for (std::size_t i = 0; i < 3; ++i) {
    std::optional<ProductTensor> tensor = tensor_of(op, i < 2 ? rule.operands[i] : rule.results[0], shapes[i], forms[i], atoms);
    if (!tensor) return std::nullopt;
    tensors.push_back(std::move(*tensor));
  }
  Dims batch, contracted, left, right;
  Dims window;  // of a kernel
  const bool slides = has_windows(rule);
  for (int f = 0; f < int(rule.factors.size()); ++f) {
    auto is_in = [&](std::size_t i) { return std::find(tensors[i].order.begin(), tensors[i].order.end(), f) != tensors[i].order.end(); };
    const bool in_left = is_in(0), in_right = is_in(1), in_result = is_in(2);
    if (in_result && (in_left || in_right))
      (!in_right ? left : !in_left ? right : batch).push_back(f);
    else if (in_left && in_right)
      contracted.push_back(f);
    else if (in_right && slides)
      window.push_back(f);
    else if (!tensors[0].cuts[std::size_t(f)].empty() || !tensors[1].cuts[std::size_t(f)].empty() ||
             !tensors[2].cuts[std::size_t(f)].empty())
      return std::nullopt;
  }
  const bool is_cut_in_window = std::any_of(window.begin(), window.end(), [&](int f) { return !tensors[1].cuts[std::size_t(f)].empty(); });
  if (is_cut_in_window && !batch.empty()) return std::nullopt;
  tensors[1].clear(window);  // XLA gathers it
  if (!may_sum)
    for (ProductTensor& tensor : tensors) tensor.clear(contracted);
  std::vector<std::int64_t> sizes;
  for (const AxisPiece& atom : atoms) sizes.push_back(atom.size);
  Digits group(sizes.size());
  std::iota(group.begin(), group.end(), 0);
  Dims beside = beside_batch(rule, batch);
  const Partitioner partitioner(std::move(sizes), slides, std::move(batch), std::move(contracted), std::move(left), std::move(right),
                                std::move(beside));
  return partitioner.run({tensors[0], tensors[1], tensors[2], group});
}

}  // namespace shardlab::spmd
