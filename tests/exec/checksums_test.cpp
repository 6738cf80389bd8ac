// Whoever asks for checksums is told of the values of every result and of what comes from the host, and finds the same on every mesh.
#include "runtime/exec/checksums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/random.h"

namespace shardlab {
namespace {

// The whole of each array, put together of the parts; arrays in the order in which they were told of.
class Sums final : public comm::Observer {
 public:
  void on_array(const comm::ArrayInfo& array) override {
    std::lock_guard lock(mutex_);
    if (arrays_.emplace(array.id, array).second) order_.push_back(array.id);
  }
  void on_checksums(std::int64_t id, const std::vector<comm::PartChecksum>& parts) override {
    std::lock_guard lock(mutex_);
    ASSERT_TRUE(arrays_.contains(id)) << "of array " << id << " nobody was told";
    ASSERT_TRUE(told_.insert(id).second) << "array " << id << " twice";
    const comm::ArrayInfo& array = arrays_.at(id);
    std::set<std::vector<std::pair<std::int64_t, std::int64_t>>> seen;
    for (const auto& [device, checksum] : parts) {
      const auto at = std::find(array.devices.begin(), array.devices.end(), device) - array.devices.begin();
      if (seen.insert(array.shards[std::size_t(at)]).second)
        sums_[id].add(checksum);
      else
        ++odd_replicas;
    }
  }
  void on_compute(const comm::Launch&, std::string_view op, Where, comm::Ns, comm::Ns) override { steps += op == "checksums"; }

  std::vector<std::pair<std::string, std::uint64_t>> hashes() const {
    std::vector<std::pair<std::string, std::uint64_t>> found;
    for (const std::int64_t id : order_) found.emplace_back(arrays_.at(id).name, sums_.contains(id) ? sums_.at(id).hash : 0);
    return found;
  }
  const Checksum& of(const Array& array) const { return sums_.at(array.impl()->id); }
  bool told(const Array& array) const { return told_.contains(array.impl()->id); }
  int odd_replicas = 0, steps = 0;

 private:
  std::mutex mutex_;
  std::vector<std::int64_t> order_;
  std::map<std::int64_t, comm::ArrayInfo> arrays_;
  std::map<std::int64_t, Checksum> sums_;
  std::set<std::int64_t> told_;
};

std::shared_ptr<Sums> record(int devices, bool checksums = true) {
  auto sums = std::make_shared<Sums>();
  ContextOptions options;
  options.devices_per_process = {devices};
  options.observers = {sums};
  options.checksums = checksums;
  Context::set_current(std::make_shared<Context>(options));
  return sums;
}

class Checksums : public ::testing::Test {
 protected:
  void TearDown() override { Context::set_current(nullptr); }
};

// Whole numbers, so that no sum depends on its order.
std::vector<std::pair<std::string, std::uint64_t>> run_on(std::vector<std::int64_t> mesh_shape) {
  std::vector<int> devices(std::size_t(mesh_shape[0] * mesh_shape[1]));
  for (std::size_t d = 0; d < devices.size(); ++d) devices[d] = int(d);
  auto sums = record(int(devices.size()));
  Mesh mesh(mesh_shape, {"a", "b"}, devices);
  std::vector<float> values(8 * 12);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i % 13) - 6;
  Array x = device_put(array(values, {8, 12}), Sharding(mesh, P("a", "b")));
  Array y = jit([](const Array& a) { return matmul(a, transpose(a)); }, {.name = "gram"})(x);
  Array half = astype(y, DType::kBfloat16), positive = greater(y, zeros({8, 8}));
  Array bits = random::bits(random::key(7), {5, 3});
  Array wave = astype(x, DType::kComplex64), nothing = reshape(slice(x, {0, 0}, {0, 12}), {0});
  for (const Array& each : {half, positive, bits, wave, nothing}) each.block_until_ready();
  EXPECT_EQ(sums->odd_replicas, 0);
  EXPECT_GT(sums->steps, 0) << "what it takes is a step of its own";
  return sums->hashes();
}

TEST_F(Checksums, AreTheSameOnEveryMesh) {
  const auto wanted = run_on({1, 1});
  ASSERT_GE(wanted.size(), 8U);
  for (const auto& [name, hash] : wanted)
    if (name != "slice" && name != "reshape") { EXPECT_NE(hash, 0U) << name; }
  EXPECT_EQ(run_on({4, 2}), wanted);
  EXPECT_EQ(run_on({2, 4}), wanted);
  EXPECT_EQ(run_on({2, 3}), wanted);
}

TEST_F(Checksums, TellWhatComesFromTheHost) {
  auto sums = record(2);
  Array x = array(std::vector<float>{1, 2, 3}, {3});
  EXPECT_FALSE(sums->told(x)) << "nothing has used it";
  Array y = add(x, x), z = multiply(x, y);
  z.block_until_ready();
  EXPECT_EQ(sums->of(x).sum, 6);
  EXPECT_EQ(sums->of(y).sum, 12);
  EXPECT_EQ(sums->of(z).max, 18);
}

TEST_F(Checksums, ADonatedOperandIsReadBefore) {
  auto sums = record(1);
  Array x = array(std::vector<float>{1, 2, 3}, {3});
  Array y = jit([](const Array& a) { return add(a, a); }, {.donate_argnums = {0}})(x);
  y.block_until_ready();
  EXPECT_EQ(sums->of(x).sum, 6);
  EXPECT_EQ(sums->of(y).sum, 12);
}

TEST_F(Checksums, AreNotTakenUnlessAskedFor) {
  auto sums = record(1, false);
  Array x = add(ones({4}), ones({4}));
  x.block_until_ready();
  EXPECT_FALSE(sums->told(x));
  EXPECT_EQ(sums->steps, 0);
  EXPECT_FALSE(ContextOptions().checksums);
}

}  // namespace
}  // namespace shardlab
