// The tensors of a product as a group of devices sees them: which digits of the mesh cut which of the product's dimensions.
#pragma once

#include <cstdint>
#include <vector>

namespace shardlab::spmd {

using Digits = std::vector<int>;          // of prime size, by number
using Parts = std::vector<std::int64_t>;  // per dimension
using Dims = std::vector<int>;

bool has(const Digits& digits, int digit);
bool has_all(const Digits& digits, const Digits& wanted);
Digits without(Digits digits, const Digits& others);

// Dimensions are those of the product: each is one of two or three of its tensors.
struct ProductTensor {
  Dims order;                // its own
  std::vector<Digits> cuts;  // per dimension of the product
  Parts sizes;               // 1 where it has no such dimension

  Digits along(const Dims& dims) const;
  Digits all() const { return along(order); }
  void clear(const Dims& dims);
  std::int64_t elements() const;
  bool is_cut_as(const ProductTensor& other, const Dims& dims) const;
};

// The digits within a group in the tensor's order, the idle ones last.
Digits inner_order(const ProductTensor& t, const Digits& within);

class DigitSizes {
 public:
  explicit DigitSizes(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {}

  std::int64_t count(const Digits& digits) const;
  std::int64_t parts(const ProductTensor& t, const Dims& dims) const { return count(t.along(dims)); }
  double part_elements(const ProductTensor& t) const { return double(t.elements()) / double(count(t.all())); }
  // The dimensions as they are cut, the others whole.
  Parts cut_as(const ProductTensor& t, const Dims& dims) const;
  // The major ones of these digits that make so many parts; none where no first few do.
  Digits major(const Digits& digits, std::int64_t parts) const;

  // What a group sees of it where groups are made along these dimensions.
  ProductTensor part(ProductTensor t, const Dims& dims) const;
  // A tensor that is grouped along `freed` put into the groups along `taken`, in which another one's digits have this order: place by
  // place, if need be wherever a digit fits; what fits nowhere is gathered.
  ProductTensor regrouped(ProductTensor t, const Digits& group, const Digits& freed, const Digits& taken, const Digits& order) const;

 private:
  std::vector<std::int64_t> sizes_;
};

}  // namespace shardlab::spmd
