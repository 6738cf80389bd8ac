// Results beside those that JAX printed for the same program (jax_goldens.py).
#pragma once

#include <gtest/gtest.h>
#include <shardlab/shardlab.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace shardlab::testing_goldens {

// What JAX's program printed: a name, the type with its sharding, the sum and the sum of magnitudes; or a program's name, "wire" and the
// bytes that its compiled module moves.
struct Wanted {
  std::string type;
  double sum = 0, magnitudes = 0;
};

inline Array on(const Mesh& mesh, const Array& x, PartitionSpec spec) { return device_put(x, NamedSharding(mesh, std::move(spec))); }

class Seen {
 public:
  // `golden`: a file of tests/exec/goldens.
  explicit Seen(const std::string& golden) {
    const char* source = std::getenv("SHARDLAB_SOURCE_DIR");
    std::ifstream file(std::string(source ? source : ".") + "/tests/exec/goldens/" + golden);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string name;
      Wanted wanted;
      words >> name >> wanted.type >> wanted.sum >> wanted.magnitudes;
      wanted_[name] = wanted;
    }
    EXPECT_FALSE(wanted_.empty()) << golden;
  }
  ~Seen() { EXPECT_EQ(seen_, wanted_.size()); }  // no line is left over

  // Every leaf of the tree, as NAME.0, NAME.1 …
  template <typename T>
  void add(const std::string& name, const T& tree) {
    int leaf = 0;
    for (const Array& array : tree::leaves(tree)) {
      const std::string key = name + "." + std::to_string(leaf++);
      ASSERT_TRUE(wanted_.contains(key)) << key;
      const Wanted& wanted = wanted_[key];
      std::string type = typeof_text(array);
      EXPECT_EQ(type.substr(type[0] == '~'), wanted.type) << key;
      double sum = 0, magnitudes = 0;
      for (float each : array.astype(float32).to_vector<float>()) {
        sum += each;
        magnitudes += std::abs(each);
      }
      const double slack = 1e-4 * std::max(1.0, wanted.magnitudes);
      EXPECT_NEAR(sum, wanted.sum, slack) << key;
      EXPECT_NEAR(magnitudes, wanted.magnitudes, slack) << key;
      ++seen_;
    }
  }

  // The results of a jitted function, which moves no more than JAX's (what loops do, once).
  template <typename F, typename... Args>
  void run(const std::string& name, const F& jitted, const Args&... args) {
    add(name, jitted(args...));
    ASSERT_EQ(wanted_[name].type, "wire") << name;
    const std::string why = jitted.explain(args...), end = " bytes on the wire, where loops go round once\n";
    const std::size_t line = why.rfind('\n', why.size() - 2);
    EXPECT_LE(std::stod(why.substr(line == std::string::npos ? 0 : line + 1, why.size() - end.size())), wanted_[name].sum) << name;
    ++seen_;
  }

 private:
  std::map<std::string, Wanted> wanted_;
  std::size_t seen_ = 0;
};

}  // namespace shardlab::testing_goldens
