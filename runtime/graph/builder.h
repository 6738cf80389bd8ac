// Builds a graph node by node, checking each against its shape rule.
#pragma once

#include "runtime/core/config.h"
#include "runtime/graph/graph.h"

namespace shardlab {

// The axes that collectives can name: the mesh axes that are manual where code is per device, and those of vmap.
struct BoundAxes {
  Mesh mesh;
  std::vector<std::string> manual;
  std::vector<BatchAxis> batches;  // those with names, the innermost last
  // Nothing where the name is not bound. Of two axes of vmap with one name the inner one is meant.
  std::optional<std::int64_t> size_of(std::string_view name) const;
  bool is_batch(std::string_view name) const;
  std::vector<std::string> names() const;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name = "main", const Config& config = {}) : config_(config) { graph_.name = std::move(name); }

  ValueId param(const TensorType& type);
  // Emits a primitive; its results. Throws the shape rule's UserError, with the place of the present call added.
  std::vector<ValueId> emit(const OpDef& op, const std::vector<ValueId>& operands, Attrs attrs = {});
  ValueId emit1(const OpDef& op, const std::vector<ValueId>& operands, Attrs attrs = {});
  // A user's call of any op: runs its expansion with `where` and the op's name attached to what it emits. While 64-bit types are off,
  // attributes that ask for one ask for the 32-bit one, with a warning.
  std::vector<ValueId> call(const OpDef& op, std::span<const Arg> args, const Attrs& attrs, Where where);
  // The user's line, op and compiled call that nodes emitted from now on belong to (transformations copy them from the nodes that they
  // transform).
  void set_place(Where where, std::string user_op, CallRef call = {}) {
    where_ = where;
    user_op_ = std::move(user_op);
    call_ = call != nullptr ? std::move(call) : open_call_;
    call_result_ = 0;
  }
  void set_place_of(const Node& node) { set_place_of(node, node.call); }
  void set_place_of(const Node& node, CallRef call) {
    set_place(node.where, node.user_op, std::move(call));
    call_result_ = node.call_result;
  }
  // Says that calls give these values in this order.
  void order_results(const std::vector<ValueId>& results);
  // Where the node's call gives its result in a known order, it gives this value in its place.
  void replace_result(const Node& node, ValueId value);
  // What is emitted while it lives is a call of its own.
  class OpenCall {
   public:
    explicit OpenCall(GraphBuilder& b) : b_(b), before_(b.call_), open_before_(b.open_call_) {
      b.open_call_ = b.call_ = std::make_shared<const Call>(Call{before_, {}});
    }
    ~OpenCall() {
      b_.call_ = std::move(before_);
      b_.open_call_ = std::move(open_before_);
    }
    OpenCall(const OpenCall&) = delete;
    OpenCall& operator=(const OpenCall&) = delete;

   private:
    GraphBuilder& b_;
    CallRef before_, open_before_;
  };
  // Makes each op that a user calls outside of calls a call of its own.
  void set_ops_are_calls(bool are_calls) { ops_are_calls_ = are_calls; }
  bool ops_are_calls() const { return ops_are_calls_; }
  const CallRef& present_call() const { return call_; }
  const Where& present_where() const { return where_; }
  const std::string& present_op() const { return user_op_; }  // empty: none is expanded or transformed
  // In the body of a manual region or under a named vmap, and in bodies inside them; else nothing.
  void set_bound(std::shared_ptr<const BoundAxes> bound) { bound_ = std::move(bound); }
  const std::shared_ptr<const BoundAxes>& bound() const { return bound_; }
  void set_results(std::vector<ValueId> results) { graph_.results = std::move(results); }

  const Config& config() const { return config_; }
  // What users are to be told, in order.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // By value: emitting moves the values.
  TensorType type(ValueId value) const { return graph_.values[std::size_t(value)].type; }
  Shape shape(ValueId value) const { return graph_.values[std::size_t(value)].type.shape; }
  const Graph& graph() const { return graph_; }
  Graph finish() { return std::move(graph_); }

 private:
  Attrs canonical_dtypes(const OpDef& op, const Attrs& attrs);

  Config config_;
  std::vector<std::string> warnings_;
  Graph graph_;
  std::shared_ptr<const BoundAxes> bound_;
  Where where_;
  std::string user_op_;
  CallRef call_, open_call_;  // that nodes belong to; the same where nothing else is said
  int call_result_ = 0;
  bool ops_are_calls_ = false;
};

}  // namespace shardlab
