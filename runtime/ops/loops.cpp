#include "runtime/ops/loops.h"

#include "runtime/graph/custom_derivative.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

// What a body takes over from the graph around it: of the last node that this has, the place.
struct Surroundings {
  Config config;
  std::shared_ptr<const BoundAxes> bound;
  Where where;
  std::string user_op;

  explicit Surroundings(const GraphBuilder& outer)
      : config(outer.config()), bound(outer.bound()), where(outer.present_where()), user_op(outer.present_op()) {
    if (!user_op.empty() || outer.graph().nodes.empty()) return;
    where = outer.graph().nodes.back().where;
    user_op = outer.graph().nodes.back().user_op;
  }
};

using Types = std::vector<TensorType>;

// A graph with parameters of these types.
Graph graph_of(const Surroundings& around, std::string name, const Types& params, const std::function<Terms(const Terms&)>& make) {
  GraphBuilder b(std::move(name), around.config);
  b.set_bound(around.bound);
  b.set_place(around.where, around.user_op);
  Terms terms;
  for (const TensorType& type : params) terms.emplace_back(b, b.param(type));
  b.set_results(ids(make(terms)));
  return b.finish();
}
GraphRef body_of(const GraphBuilder& outer, std::string name, const Types& params, const std::function<Terms(const Terms&)>& make) {
  return std::make_shared<const Graph>(graph_of(Surroundings(outer), std::move(name), params, make));
}

Types types_of(const Terms& terms) {
  Types types;
  for (const Term& each : terms) types.push_back(each.type());
  return types;
}

Terms terms_of(GraphBuilder& b, const Values& values) {
  Terms terms;
  for (ValueId value : values) terms.emplace_back(b, value);
  return terms;
}

Values ids_of(const Terms& first, const Terms& second) {
  Values all = ids(first);
  for (const Term& each : second) all.push_back(each.id());
  return all;
}

std::pair<Terms, Terms> parted(const Terms& terms, std::size_t count) {
  const auto middle = terms.begin() + std::ptrdiff_t(count);
  return {{terms.begin(), middle}, {middle, terms.end()}};
}

Term called_with(const Terms& operands, const std::function<Term(const Terms&)>& value, CustomDerivative derivative) {
  GraphBuilder& b = operands[0].builder();
  auto results = [&](const Terms& params) { return Terms{value(params)}; };
  Graph function = graph_of(Surroundings(b), "function", types_of(operands), results);
  const GraphRef body = shardlab::with_derivative(std::move(function), std::move(derivative));
  return {b, b.emit1(kCustomJvpCall, ids(operands), Attrs{{"bodies", Bodies{body}}})};
}

}  // namespace

Terms repeated_while(const Terms& constants, const Terms& init, const std::function<Term(const Terms&, const Terms&)>& condition,
                     const std::function<Terms(const Terms&, const Terms&)>& body) {
  GraphBuilder& b = init[0].builder();
  Types types = types_of(constants);
  for (const Term& each : init) types.push_back(each.type());
  auto of_parts = [&](auto function) {
    return [&, function](const Terms& params) {
      auto [fixed, carried] = parted(params, constants.size());
      return Terms(function(fixed, carried));
    };
  };
  const Bodies bodies{body_of(b, "cond_fun", types, of_parts([&](const Terms& c, const Terms& x) { return Terms{condition(c, x)}; })),
                      body_of(b, "body_fun", types, of_parts(body))};
  return terms_of(b,
                  b.emit(kWhileLoop, ids_of(constants, init), Attrs{{"bodies", bodies}, {"num_consts", std::int64_t(constants.size())}}));
}

Terms repeated_over(const Terms& init, const Terms& along, const std::function<Terms(const Terms&, const Terms&)>& body) {
  GraphBuilder& b = init[0].builder();
  Types types = types_of(init);
  for (const Term& each : along) {
    types.push_back(each.type());
    types.back().shape.erase(types.back().shape.begin());
  }
  GraphRef graph = body_of(b, "body", types, [&](const Terms& params) {
    auto [carried, slices] = parted(params, init.size());
    return body(carried, slices);
  });
  return terms_of(b, b.emit(kScan, ids_of(init, along),
                            Attrs{{"bodies", Bodies{graph}},
                                  {"length", along[0].size(0)},
                                  {"num_carry", std::int64_t(init.size())},
                                  {"num_consts", std::int64_t(0)},
                                  {"reverse", false}}));
}

Terms either(const Term& condition, const Terms& operands, const std::function<Terms(const Terms&)>& yes,
             const std::function<Terms(const Terms&)>& no) {
  GraphBuilder& b = condition.builder();
  const Types types = types_of(operands);
  const Bodies bodies{body_of(b, "branch", types, no), body_of(b, "branch", types, yes)};
  return terms_of(b, b.emit(kCond, ids_of({converted(condition, DType::kInt32)}, operands), Attrs{{"bodies", bodies}}));
}

Term with_derivative(const Terms& operands, const DerivedFunction& function) {
  const Surroundings around(operands[0].builder());
  const Types types = types_of(operands);
  CustomDerivative derivative;
  derivative.jvp = [=] {
    Types all = types;
    all.insert(all.end(), types.begin(), types.end());
    return graph_of(around, "jvp", all, [&](const Terms& params) {
      const auto [given, tangents] = parted(params, types.size());
      const Term value = with_derivative(given, function);
      return Terms{value, function.tangent(given, value, tangents)};
    });
  };
  return called_with(operands, function.value, std::move(derivative));
}

Term with_another_derivative(const Terms& operands, const std::function<Term(const Terms&)>& value,
                             const std::function<Term(const Terms&)>& instead) {
  CustomDerivative derivative;
  derivative.instead = [around = Surroundings(operands[0].builder()), types = types_of(operands), instead] {
    return graph_of(around, "instead", types, [&](const Terms& params) { return Terms{instead(params)}; });
  };
  return called_with(operands, value, std::move(derivative));
}

}  // namespace shardlab::ops
