#include "runtime/transform/simplify.h"

#include "runtime/transform/fold_integers.h"
#include "runtime/transform/inline.h"
#include "runtime/transform/joins.h"
#include "runtime/transform/merge_equal.h"
#include "runtime/transform/merge_reshapes.h"
#include "runtime/transform/unused_sorted.h"
#include "runtime/transform/whole_updates.h"

namespace shardlab::transform {

namespace {

template <bool kIsJitted>
Graph simplified_with_bodies(const Graph& graph) {
  Graph simple = with_flat_joins(without_whole_updates(with_merged_reshapes(without_unused_sorted(graph))));
  if (kIsJitted) simple = with_folded_integers(with_slices_of_parts(simple));
  for (Node& node : simple.nodes)
    if (!node.attrs.bodies().empty()) node.attrs = with_changed_bodies(node, simplified_with_bodies<kIsJitted>);
  return simple;
}

}  // namespace

Graph simplified(const Graph& graph, bool is_jitted) {
  return with_equal_merged(is_jitted ? simplified_with_bodies<true>(graph) : simplified_with_bodies<false>(graph));
}

}  // namespace shardlab::transform
