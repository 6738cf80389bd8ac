// Functions of the user's on the host: who calls them, how often and with what, as JAX 0.10.2 does on eight devices.
#include "runtime/exec/callbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <stdexcept>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/context.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/custom_derivatives.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/python_format.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/vmap.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Floats = std::vector<float>;

HostArray doubled(const HostArrays& args) {
  Floats values = args[0].to_vector<float>();
  for (float& x : values) x *= 2;
  return {values, args[0].shape()};
}

class Callbacks : public OnEightDevices {
 protected:
  void SetUp() override {
    OnEightDevices::SetUp();
    a = device_put(reshape(arange(8.0F), {4, 2}), NamedSharding(mesh, P("x", "y")));
  }
  void TearDown() override {
    a = {};
    OnEightDevices::TearDown();
  }

  // Notes the shapes that it is called with.
  HostArray noted(const HostArrays& args) {
    std::string text;
    for (const HostArray& each : args) text += text_of(each.shape());
    calls.push_back(text);
    return doubled(args);
  }
  auto note() {
    return [this](const HostArrays& args) { return noted(args); };
  }

  Mesh mesh = Mesh({4, 2}, {"x", "y"}, {0, 1, 2, 3, 4, 5, 6, 7});
  Array a;
  std::vector<std::string> calls;
};

TEST_F(Callbacks, PrintIsPythonsFormat) {
  EXPECT_EQ(printed([&] { debug::print("a {} {x:.2f}", a, debug::named("x", 1.5F)); }), "a [[0. 1.]\n [2. 3.]\n [4. 5.]\n [6. 7.]] 1.50\n");
  EXPECT_EQ(printed([&] { debug::print("{} {} {} {b} {{}}", arange(3), array<float>({2.5F}, {1}), 2, debug::named("b", true)); }),
            "[0 1 2] [2.5] 2 True {}\n");
  EXPECT_EQ(printed([&] { debug::print("{:5d}|{:<8}|{:e}|{:+.3g}|{:%}", 3, 2.5, 12345.678, 0.1, 0.25); }),
            "    3|2.5     |1.234568e+04|+0.1|25.000000%\n");
  EXPECT_EQ(printed([&] { debug::print("{1} {0} {name}", 1, 2, debug::named("name", "loss")); }), "2 1 loss\n");
  EXPECT_EQ(printed([&] { debug::print("x"); }), "x\n");
  EXPECT_THAT(error_of([&] { debug::print("x {} {}", 1.0); }), HasSubstr("Replacement index 1 out of range for positional args tuple"));
  EXPECT_THAT(error_of([&] { debug::print("x {y}", 1.0); }), HasSubstr("KeyError: 'y'"));
  EXPECT_THAT(error_of([&] { debug::print("x {}", a, a); }),
              HasSubstr("Unused positional arguments to `jax.debug.print`: [float32[4,2]] [callbacks_test.cpp:"));
  EXPECT_THAT(error_of([&] { debug::print("{:.2f}", a); }), HasSubstr("unsupported format string passed to numpy.ndarray.__format__"));
  EXPECT_THAT(error_of([&] { debug::print("}"); }), HasSubstr("Single '}' encountered in format string"));
  EXPECT_THAT(error_of([&] { debug::print("{"); }), HasSubstr("Single '{' encountered in format string"));
  EXPECT_THAT(error_of([&] { debug::print("{:d}", 1.5); }), HasSubstr("Unknown format code 'd' for object of type 'float'"));
}

TEST_F(Callbacks, InsideJitTheWholeValueIsPrintedOnceEachTime) {
  auto f = jit([](const Array& x) {
    debug::print("x {}", x);
    return x + 1;
  });
  const std::string text = "x [[0. 1.]\n [2. 3.]\n [4. 5.]\n [6. 7.]]\n";
  Array y;
  EXPECT_EQ(printed([&] { y = f(a); }), text);
  EXPECT_EQ(printed([&] { f(a); }), text);
  EXPECT_EQ(y.sharding().spec_text(), "P('x', 'y')");
  EXPECT_EQ(y.to_vector<float>(), (Floats{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(Callbacks, APartitionedPrintIsOfEachDevicesPart) {
  auto f = jit([](const Array& x) {
    debug::print({.partitioned = true}, "x {}", x);
    return x + 1;
  });
  EXPECT_EQ(printed([&] { f(a); }), "x [[0.]]\nx [[1.]]\nx [[2.]]\nx [[3.]]\nx [[4.]]\nx [[5.]]\nx [[6.]]\nx [[7.]]\n");
}

TEST_F(Callbacks, InPerDeviceCodeEveryDeviceCalls) {
  auto f = jit(shard_map(
      [](const Array& x) {
        debug::print("s {}", x);
        return x + 1;
      },
      {.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = {P("x", "y")}}));
  EXPECT_EQ(printed([&] { f(a); }), "s [[0.]]\ns [[1.]]\ns [[2.]]\ns [[3.]]\ns [[4.]]\ns [[5.]]\ns [[6.]]\ns [[7.]]\n");
  auto g = jit(shard_map([&](const Array& x) { return pure_callback(note(), x.type(), {x}) + 1; },
                         {.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = {P("x", "y")}}));
  EXPECT_EQ(g(a).to_vector<float>(), (Floats{1, 3, 5, 7, 9, 11, 13, 15}));
  EXPECT_EQ(calls, std::vector<std::string>(8, "(1, 1)"));
}

TEST_F(Callbacks, OneDeviceCallsAndAllHaveTheResult) {
  Array eager = pure_callback(note(), a.type(), {a});
  EXPECT_EQ(eager.to_vector<float>(), (Floats{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_THAT(calls, ElementsAre("(4, 2)"));
  auto f = jit([&](const Array& x) { return pure_callback(note(), x.type(), {x}) + 1; });
  Array y = f(a);
  EXPECT_EQ(y.to_vector<float>(), (Floats{1, 3, 5, 7, 9, 11, 13, 15}));
  EXPECT_TRUE(y.is_fully_replicated());
  EXPECT_EQ(calls.size(), 2U);
  f(a);
  EXPECT_EQ(calls.size(), 3U);
  // Of a mesh whose first device is not device 0, too.
  Mesh turned({4, 2}, {"x", "y"}, {3, 1, 2, 0, 7, 5, 6, 4});
  EXPECT_EQ(f(device_put(a, NamedSharding(turned, P("y")))).to_vector<float>(), y.to_vector<float>());
  EXPECT_EQ(calls.size(), 4U);
}

TEST_F(Callbacks, SeveralResultsAndNone) {
  HostFunction both = [](const HostArrays& args) {
    return HostArrays{doubled(args), HostArray(std::vector<int>{1, 2, 3}), HostArray(std::vector<double>{0.5}, Shape{})};
  };
  auto f = jit([&](const Array& x) { return pure_callback(both, {x.type(), {DType::kInt32, {3}}, {DType::kFloat32, {}}}, {x}); });
  std::vector<Array> results = f(a);
  EXPECT_EQ(results[0].to_vector<float>(), (Floats{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(results[1].to_vector<int>(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(results[2].item<float>(), 0.5F);
  EXPECT_TRUE(pure_callback(both, std::vector<TensorType>{}, {a}).empty());
  int count = 0;
  io_callback([&](const HostArrays&) { return ++count, HostArrays(); }, std::vector<TensorType>{}, {});
  EXPECT_EQ(count, 1);
}

TEST_F(Callbacks, EffectsAreNeverLeftOut) {
  auto io = jit([&](const Array& x) {
    io_callback(note(), x.type(), {x});
    return x;
  });
  io(a);
  effects_barrier();
  EXPECT_THAT(calls, ElementsAre("(4, 2)"));
  auto ordered = jit([&](const Array& x) {
    io_callback(note(), x.type(), {x}, {.ordered = true});
    io_callback(note(), x.type(), {x}, {.ordered = true});
    return x;
  });
  ordered(a);
  effects_barrier();
  EXPECT_EQ(calls.size(), 3U);
  // In the program's order, whatever is made of their results.
  auto mixed = jit([&](const Array& x) {
    auto step = [&](int number, const Array& value) {
      return io_callback([number](const HostArrays& args) { return std::cout << number << ' ', args[0]; }, x.type(), {value},
                         {.ordered = true});
    };
    Array first = step(1, x), second = step(2, sin(x));
    step(3, first);
    Array fourth = step(4, second), fifth = step(5, x);
    return matmul(transpose(fifth), fourth + first);
  });
  EXPECT_EQ(printed([&] { mixed(a); }), "1 2 3 4 5 ");
  auto pure = jit([&](const Array& x) {
    pure_callback(note(), x.type(), {x});
    return x;
  });
  pure(a);
  effects_barrier();
  EXPECT_EQ(calls.size(), 3U);
  auto nothing = jit([] {
    debug::print("no operands");
    debug::print("no operands");
    return zeros({2});
  });
  EXPECT_EQ(printed([&] { nothing(); }), "no operands\nno operands\n");
}

TEST_F(Callbacks, InLoopsAndBranches) {
  auto loop = [](const Array& x) {
    return fori_loop(
        0, 3,
        [](const Array& i, const Array& carried) {
          debug::print("i {} {}", i, sum(carried));
          return carried * 2;
        },
        x);
  };
  const std::string rounds = "i 0 28.0\ni 1 56.0\ni 2 112.0\n";
  EXPECT_EQ(printed([&] { loop(a); }), rounds);
  EXPECT_EQ(printed([&] { jit(loop)(a); }), rounds);
  // What a loop does not change is printed in each round all the same.
  auto constant = jit([](const Array& x) {
    return fori_loop(
        0, 2,
        [&](const Array&, const Array& carried) {
          debug::print("c {}", sum(x));
          return carried + x;
        },
        x);
  });
  EXPECT_EQ(printed([&] { constant(a); }), "c 28.0\nc 28.0\n");
  auto alone = jit([](const Array& x) {
    fori_loop(
        0, 2,
        [](const Array& i, const Array& carried) {
          debug::print("i {}", i);
          return carried;
        },
        x);
    return x;
  });
  EXPECT_EQ(printed([&] { alone(a); }), "i 0\ni 1\n");
  auto branch = [](const Array& x) {
    auto say = [](const char* text) {
      return [text](const Array& y) {
        debug::print("{} {}", text, max(y));
        return y;
      };
    };
    return cond(sum(x) > 3, say("yes"), say("no"), x);
  };
  EXPECT_EQ(printed([&] { branch(a); }), "yes 7.0\n");
  EXPECT_EQ(printed([&] { jit(branch)(a * 0); }), "no 0.0\n");
  auto in_scan = jit([&](const Array& x) {
    return std::get<0>(scan(
        [&](const Array& c, const Array& row) { return std::pair(c + sum(pure_callback(note(), row.type(), {row})), c); }, sum(x) * 0, x));
  });
  EXPECT_EQ(in_scan(a).item<float>(), 56);
  EXPECT_EQ(calls, std::vector<std::string>(4, "(2,)"));
}

TEST_F(Callbacks, UnderDerivatives) {
  auto f = [](const Array& x) {
    debug::print("in {}", x);
    return sin(x);
  };
  const Array one = array<float>({1}, {1});
  auto total = [&](const Array& x) { return sum(f(x)); };
  EXPECT_EQ(printed([&] { grad(total)(one); }), "in [1.]\n");
  EXPECT_EQ(printed([&] { jit(grad(total))(one); }), "in [1.]\n");
  EXPECT_EQ(printed([&] { jvp(f, std::tuple(one), std::tuple(one)); }), "in [1.]\n");
  EXPECT_EQ(printed([&] { vjp(f, one); }), "in [1.]\n");
  EXPECT_EQ(printed([&] { jit(grad([&](const Array& x) { return sum(sin(checkpoint(f)(x))); }))(one); }), "in [1.]\nin [1.]\n");
  auto scanned = [&](const Array& x) {
    return std::get<0>(scan(
        [](const Array& c, const Array& row) {
          debug::print("c {}", c);
          return std::pair(c * 2 + row, c);
        },
        sum(x), x));
  };
  EXPECT_EQ(printed([&] { grad(scanned)(ones({2})); }), "c 2.0\nc 5.0\n");
  EXPECT_EQ(printed([&] { jit(grad(scanned))(ones({2})); }), "c 2.0\nc 5.0\n");
  EXPECT_THAT(error_of([&] { grad([&](const Array& x) { return sum(pure_callback(note(), x.type(), {x})); })(a); }),
              HasSubstr("Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while taking gradients. "
                        "[callbacks_test.cpp:"));
  EXPECT_THAT(error_of([&] { grad([&](const Array& x) { return sum(io_callback(note(), x.type(), {x})); })(a); }),
              HasSubstr("IO callbacks do not support JVP."));
  EXPECT_THAT(error_of([&] {
                jit(grad([&](const Array& x) {
                  return sum(checkpoint([&](const Array& y) {
                    io_callback(note(), y.type(), {stop_gradient(y)});
                    return sin(y);
                  })(x));
                }))(a);
              }),
              HasSubstr("Effects not supported in partial-eval of `checkpoint`/`remat`"));
  EXPECT_TRUE(calls.empty());
}

TEST_F(Callbacks, ACustomDerivativeMayCall) {
  auto call = [&](const Array& x) { return pure_callback(note(), x.type(), {x}); };
  auto twice = custom_jvp(call, [&](const std::tuple<Array>& primals, const std::tuple<Array>& tangents) {
    return std::pair(call(std::get<0>(primals)), std::get<0>(tangents) * 2);
  });
  auto f = jit(grad([&](const Array& x) { return sum(twice(x) * x); }));
  EXPECT_EQ(f(a).to_vector<float>(), (Floats{0, 4, 8, 12, 16, 20, 24, 28}));
}

TEST_F(Callbacks, UnderVmap) {
  const Array v = arange(3.0F), one = ones({});
  auto with = [&](const std::string& method) {
    calls.clear();
    auto f = [&, method](const Array& x) {
      HostFunction product = [&](const HostArrays& args) {
        noted(args);
        Floats left = args[0].to_vector<float>(), right = args[1].to_vector<float>();
        for (std::size_t i = 0; i < left.size(); ++i) left[i] *= 2 * right[i % right.size()];
        return HostArrays{HostArray(left, args[0].shape())};
      };
      return pure_callback(product, std::vector<TensorType>{x.type()}, {x, one}, {.vmap_method = method})[0];
    };
    EXPECT_EQ(vmap(f)(v).to_vector<float>(), (Floats{0, 2, 4})) << method;
    return calls;
  };
  EXPECT_THAT(with("sequential"), ElementsAre("()()", "()()", "()()"));
  EXPECT_THAT(with("sequential_unrolled"), ElementsAre("()()", "()()", "()()"));
  EXPECT_THAT(with("expand_dims"), ElementsAre("(3,)(1,)"));
  EXPECT_THAT(with("broadcast_all"), ElementsAre("(3,)(3,)"));
  EXPECT_THAT(with("legacy_vectorized"), ElementsAre("(3,)()"));
  EXPECT_THAT(error_of([&] { with(""); }),
              HasSubstr("vmap is only supported for the pure_callback primitive when vmap_method is one of 'sequential'"));
  EXPECT_THAT(error_of([&] { with("zzz"); }), HasSubstr("but got: zzz"));
  EXPECT_THAT(error_of([&] { vmap([&](const Array& x) { return io_callback(note(), x.type(), {x}, {.ordered = true}); })(v); }),
              HasSubstr("Cannot `vmap` ordered IO callback."));
  calls.clear();
  EXPECT_EQ(vmap([&](const Array& x) { return io_callback(note(), x.type(), {x}); })(v).to_vector<float>(), (Floats{0, 2, 4}));
  EXPECT_THAT(calls, ElementsAre("()", "()", "()"));
  auto print = [&](const Array& x) {
    debug::print("v {} {}", x, v);
    debug::print("c {}", 1.0);
    return x;
  };
  EXPECT_EQ(printed([&] { vmap(print)(v); }), "v 0.0 [0. 1. 2.]\nv 1.0 [0. 1. 2.]\nv 2.0 [0. 1. 2.]\nc 1.0\n");
  // Two batches: the outer one first.
  auto row = [](const Array& x) {
    debug::print("{}", x);
    return x;
  };
  EXPECT_EQ(printed([&] { jit(vmap(vmap(row)))(reshape(arange(4), {2, 2})); }), "0\n1\n2\n3\n");
  EXPECT_EQ(printed([&] { vmap(vmap(row), {.in_axes = {1}})(reshape(arange(4), {2, 2})); }), "0\n2\n1\n3\n");
}

TEST_F(Callbacks, WhatTheFunctionThrowsIsAnErrorAtTheUsersLine) {
  auto bad = [](const HostArrays&) -> HostArray { throw std::runtime_error("user says no"); };
  auto f = jit([&](const Array& x) { return pure_callback(bad, x.type(), {x}); });
  EXPECT_THAT(error_of([&] { f(a).to_vector<float>(); }),
              testing::AllOf(HasSubstr("CpuCallback error calling callback: user says no [pure_callback at callbacks_test.cpp:"),
                             HasSubstr("callbacks_test.cpp")));
  EXPECT_THAT(error_of([&] { debug::callback(bad, {a}); }), HasSubstr("user says no"));
  auto quiet = jit([&](const Array& x) {
    debug::callback(bad, {x});
    return x;
  });
  EXPECT_THAT(error_of([&] { quiet(a).to_vector<float>(); }), HasSubstr("user says no"));
  auto strange = [](const HostArrays&) -> HostArray { throw 3; };
  EXPECT_THAT(error_of([&] { pure_callback(strange, a.type(), {a}); }), HasSubstr("something that is no std::exception"));
  auto wrong = [&](HostArray value) {
    return error_of([&] { pure_callback([&](const HostArrays&) { return value; }, {DType::kFloat32, {2}}, {a}).to_vector<float>(); });
  };
  EXPECT_THAT(wrong(Floats{1, 2, 3}), HasSubstr("Incorrect output shape for return value #0: Expected: (2,), Actual: (3,)"));
  EXPECT_THAT(wrong(std::vector<int>{1, 2}), HasSubstr("Incorrect output dtype for return value #0: Expected: float32, Actual: int32"));
  EXPECT_EQ(wrong(std::vector<double>{1, 2}), "no error");
  EXPECT_THAT(error_of([&] {
                pure_callback([](const HostArrays&) { return HostArrays(); }, std::vector<TensorType>{{DType::kFloat32, {2}}}, {a});
              }),
              HasSubstr("Mismatched number of outputs from callback. Expected: 1, Actual: 0"));
  EXPECT_THAT(error_of([&] {
                pure_callback(note(), {DType::kFloat64, {2}}, {a});
              }),
              HasSubstr("result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled"));
}

TEST_F(Callbacks, AFunctionMayComputeItself) {
  auto f = jit([](const Array& x) {
    return pure_callback([](const HostArrays& args) { return device_get(sin(args[0].to_device()) * 2); }, x.type(), {x});
  });
  EXPECT_THAT(f(a).to_vector<float>(), testing::Pointwise(testing::FloatEq(), (sin(a) * 2).to_vector<float>()));
}

TEST_F(Callbacks, OrderIsTheProgramsAcrossLaunches) {
  Mesh left({2}, {"i"}, {0, 1}), right({2}, {"i"}, {2, 3});
  std::vector<int> seen;
  auto note_number = [&](int number) {
    return jit([&seen, number](const Array& x) {
      Array y = matmul(x, x);
      io_callback([&seen, number](const HostArrays&) { return seen.push_back(number), HostArrays(); }, std::vector<TensorType>{}, {y},
                  {.ordered = true});
      return y;
    });
  };
  const Array big = ones({256, 256});
  for (int i = 0; i < 12; ++i) note_number(i)(device_put(big, NamedSharding(i % 2 == 0 ? left : right, P("i"))));
  effects_barrier();
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

}  // namespace
}  // namespace shardlab
