// The steps of a random program: each takes values made so far and adds new ones.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "runtime/exec/operand.h"
#include "tests/fuzz/program.h"

namespace shardlab::fuzz {

// `exact`: made without sums and products of many floats, so that every order of computing gives the same bits. Steps that jump (floor,
// argmax, comparisons) take exact values alone.
struct Piece {
  Array array;
  bool exact = true;
};

class Steps {
 public:
  Steps(Random& random, const Mesh& mesh, bool sharded) : random_(random), mesh_(mesh), sharded_(sharded) {}
  void give(Array array) { pool_.push_back({std::move(array), true}); }
  // One step; nothing where it found no operands.
  void add();
  const std::vector<Piece>& pool() const { return pool_; }

 private:
  friend struct StepTable;
  using Test = std::function<bool(const Piece&)>;
  using Operands = std::vector<Operand>;

  // --- Choosing operands, calling ops, keeping results (steps.cpp).
  std::optional<Piece> pick(const Test& test);
  std::optional<Piece> pick_floating(int rank_min = 0);
  std::optional<Piece> pick_ranked(int rank_min);
  std::optional<Piece> pick_like(const Piece& x);
  Array op(std::string_view name, const Operands& operands, const Attrs& attrs = {});
  void keep(const Array& array, bool exact);
  int some_dim(const Piece& x) { return random_.below(x.array.ndim()); }
  std::vector<std::int64_t> some_dims(const Piece& x);

  // --- Values (value_steps.cpp).
  void smooth();
  void on_positive();
  void stepwise();
  void bits();
  void arithmetic();
  void safe_quotient();
  void compare_and_choose();
  void reduce();
  void count_or_find();
  void run_along();
  void order();
  void normalise();
  void convert();
  void product();
  void contraction();
  void decompose();
  void convolve();
  void slide();
  void transform();

  // --- Places (place_steps.cpp).
  void reshape();
  void permute();
  void grow_or_shrink();
  void join();
  void cut();
  void pad();
  void shift();
  void repeat();
  void look_up();
  void replace();
  void triangle();
  void constant();
  void draw();

  // --- Shardings and functions (region_steps.cpp).
  void constrain();
  void loop();
  void branch();
  void per_device();
  void own_derivative();

  Random& random_;
  const Mesh& mesh_;
  bool sharded_;
  std::vector<Piece> pool_;
};

// The ops that steps have called with success.
std::vector<std::string>& names_seen();

inline bool is_float(const Piece& x) { return is_floating(x.array.dtype()); }
inline bool is_wide(const Piece& x) { return is_float(x) && !is_half(x.array.dtype()); }

}  // namespace shardlab::fuzz
