#include "tests/fuzz/program.h"

#include <bit>
#include <cstring>

#include "tests/fuzz/steps.h"

namespace shardlab::fuzz {
namespace {

Mesh random_mesh(Random& random) {
  static const std::vector<Shape> kShapes = {{2, 2, 2}, {2, 2, 2}, {8}, {3, 2}, {7}, {1}, {4, 2}, {2, 4}, {2, 3}, {5}, {1, 6}, {2, 2}};
  Shape shape = random.of(kShapes);
  static const std::vector<std::string> kNames = {"x", "y", "z"};
  std::vector<int> devices = random.order(8);
  devices.resize(std::size_t(element_count(shape)));
  return Mesh(shape, {kNames.begin(), kNames.begin() + std::ptrdiff_t(shape.size())}, devices);
}

// Sizes that axes divide, that they do not, primes and 1.
Shape random_shape(Random& random, const Mesh& mesh) {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 12, 16};
  Shape shape;
  for (int i = 0, rank = random.of({0, 1, 1, 2, 2, 2, 2, 3, 3, 4}); i < rank; ++i) {
    std::int64_t size = random.of(kSizes);
    if (random.one_in(2)) {
      std::int64_t axis = mesh.shape()[std::size_t(random.below(int(mesh.shape().size())))];
      size = axis * std::max<std::int64_t>(1, random.of({1, 2, 2, 3}));
    }
    if (element_count(shape) * size <= 2048) shape.push_back(size);
  }
  return shape;
}

DType random_dtype(Random& random) {
  switch (random.below(16)) {
    case 0:
      return DType::kBfloat16;
    case 1:
      return DType::kFloat16;
    case 2:
      return DType::kComplex64;
    case 3:
      return DType::kBool;
    case 4:
    case 5:
      return DType::kInt32;
    case 6:
      return random.one_in(2) ? DType::kUint8 : DType::kInt16;
    default:
      return DType::kFloat32;
  }
}

}  // namespace

Sharding random_sharding(Random& random, const Mesh& mesh, const Shape& shape, bool may_be_uneven) {
  Spec spec(shape.size());
  for (int axis : random.order(std::size_t(mesh.axis_count()))) {
    std::size_t d = shape.empty() ? 0 : std::size_t(random.below(int(shape.size())));
    bool leave_out = random.one_in(4) || shape.empty();
    if (leave_out) continue;
    spec[d].push_back(mesh.whole_axis(axis));
    if (!may_be_uneven && shape[d] % part_count(spec[d]) != 0) spec[d].pop_back();
  }
  return {mesh, std::move(spec)};
}

Program::Program(unsigned seed, int ops_max) : seed_(seed), ops_max_(ops_max), mesh_({1}, {"x"}, {0}) {
  Random random(seed * 2u + 1u);
  mesh_ = random_mesh(random);
  for (int i = 0, count = 1 + random.below(3); i < count; ++i) {
    DType dtype = i == 0 ? DType::kFloat32 : random_dtype(random);
    params_.push_back({dtype, random_shape(random, mesh_)});
    bool committed = i == 0 || !random.one_in(6);
    Sharding sharding = random_sharding(random, mesh_, params_.back().shape, false);
    shardings_.push_back(committed ? std::optional(sharding) : std::nullopt);
  }
}

std::vector<std::vector<std::byte>> Program::data() const {
  Random random(seed_ * 2u + 1000003u);
  std::vector<std::vector<std::byte>> all;
  for (const TensorType& type : params_) {
    std::vector<std::byte> bytes(std::size_t(type.bytes()));
    visit_dtype(type.dtype, [&](auto zero) {
      using T = decltype(zero);
      for (std::int64_t i = 0; i < type.elements(); ++i) {
        std::complex<double> value(random.uniform(-1, 1), random.uniform(-1, 1));
        if (type.dtype == DType::kBool) value = random.below(2);
        if (is_integer(type.dtype)) value = type.dtype == DType::kUint8 ? random.below(20) : random.below(19) - 9;
        T element = element_from<T>(value);
        std::memcpy(bytes.data() + std::size_t(i) * sizeof(T), &element, sizeof(T));
      }
    });
    all.push_back(std::move(bytes));
  }
  return all;
}

std::vector<Array> Program::run(const std::vector<Array>& args, bool sharded) const {
  Random random(seed_ * 2u + 2000003u);
  Steps steps(random, mesh_, sharded);
  for (const Array& arg : args) steps.give(arg);
  for (int i = 0; i < ops_max_; ++i) steps.add();
  // The last value, and some from the middle.
  const auto& pool = steps.pool();
  std::vector<Array> results{pool.back().array};
  Random choice(seed_ * 2u + 3000017u);
  for (int i = 0, more = choice.below(3); i < more; ++i) results.push_back(pool[std::size_t(choice.below(int(pool.size())))].array);
  return results;
}

const std::vector<std::string>& Program::ops_seen() { return names_seen(); }

}  // namespace shardlab::fuzz
