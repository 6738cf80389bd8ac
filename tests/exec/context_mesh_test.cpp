// The context mesh and meshes without devices.
#include "runtime/exec/context_mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"

namespace shardlab {
namespace {

using testing::HasSubstr;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& error) { return error.what(); }
  return "nothing was thrown";
}

TEST(ContextMesh, GivesSpecsTheirMesh) {
  EXPECT_THAT(message_of([] { device_put(arange(8), P("a")); }), HasSubstr("Please set a mesh via `jax.set_mesh`"));
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  MeshScope scope(mesh);
  EXPECT_EQ(device_put(arange(8), P("a")).sharding(), NamedSharding(mesh, P("a")));
  EXPECT_EQ(*get_mesh(), mesh);
}

TEST(ContextMesh, TakesComputationsThatLieNowhere) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  auto f = jit([](const Array& x) { return add(x, 1); });
  EXPECT_EQ(f(arange(8)).sharding().mesh().size(), 1);
  {
    MeshScope scope(mesh);
    Array y = f(arange(8));
    EXPECT_EQ(y.sharding().mesh(), mesh);
    EXPECT_TRUE(y.is_fully_replicated());
    EXPECT_TRUE(y.committed());
    EXPECT_EQ(y.to_vector<std::int32_t>()[7], 8);
  }
  EXPECT_EQ(f(arange(8)).sharding().mesh().size(), 1);
  EXPECT_FALSE(get_mesh().has_value());
}

TEST(ContextMesh, IsNotSetInsideJit) {
  Mesh mesh = make_mesh({8}, {"a"});
  EXPECT_THAT(message_of([&] {
                jit([&](const Array& x) {
                  MeshScope scope(mesh);
                  return x;
                })(arange(3));
              }),
              HasSubstr("can only be used outside of jit"));
}

TEST(AbstractMesh, StandsForEveryMeshOfItsForm) {
  AbstractMesh form({4, 2}, {"a", "b"});
  EXPECT_EQ(form.text(), "AbstractMesh('a': 4, 'b': 2, axis_types=(Auto, Auto))");
  Mesh mesh = form.on(devices());
  EXPECT_TRUE(form.is_form_of(mesh));
  auto f = jit([&](const Array& x) { return with_sharding_constraint(multiply(x, 2), form, P("b")); });
  Array y = f(device_put(arange(8), NamedSharding(mesh, P("a"))));
  EXPECT_TRUE(y.sharding().is_equivalent_to(NamedSharding(mesh, P("b")), y.shape()));
  EXPECT_THAT(message_of([&] { f(device_put(arange(8), NamedSharding(make_mesh({8}, {"a"}), P("a")))); }),
              HasSubstr("the constraint is on AbstractMesh('a': 4, 'b': 2, axis_types=(Auto, Auto)), but the computation runs on"));
  EXPECT_THAT(message_of([&] { with_sharding_constraint(arange(8), form, P("b")); }), HasSubstr("AbstractMesh does not implement devices"));
}

}  // namespace
}  // namespace shardlab
