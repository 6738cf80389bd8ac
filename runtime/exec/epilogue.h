// What may follow a product of matrices and be done with it.
#pragma once

#include <cstdint>
#include <string>

namespace shardlab {

// result = activation(scale * product + bias), in this order, rounded once; or with an addend instead of the bias.
struct Epilogue {
  enum class Activation : std::uint8_t { kNone, kRelu, kGelu };  // gelu: the approximate one, by tanh
  double scale = 1;
  bool has_bias = false;    // the step's third operand: as many elements as a row of the product, of its dtype
  bool has_addend = false;  // the same: as the result
  Activation activation = Activation::kNone;
  std::string name;  // "dot_general + add + relu", for the record
};

}  // namespace shardlab
