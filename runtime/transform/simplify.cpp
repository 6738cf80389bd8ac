#include "runtime/transform/simplify.h"

#include "runtime/transform/fold_integers.h"
#include "runtime/transform/joins.h"
#include "runtime/transform/merge_equal.h"
#include "runtime/transform/merge_reshapes.h"
#include "runtime/transform/unused_sorted.h"
#include "runtime/transform/whole_updates.h"

namespace shardlab::transform {

Graph simplified(const Graph& graph, bool is_jitted) {
  Graph simple = with_flat_joins(without_whole_updates(with_merged_reshapes(without_unused_sorted(graph))));
  if (is_jitted) simple = with_folded_integers(with_slices_of_parts(simple));
  return with_equal_merged(simple);
}

}  // namespace shardlab::transform
