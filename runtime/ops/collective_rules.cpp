#include "runtime/ops/collective_rules.h"

#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

// axis_name, axis_size and groups, which a transpose has as its op.
Attrs group_of(const Attrs& attrs) {
  Attrs group;
  for (std::string_view name : {"axis_name", "axis_size", "axis_index_groups"})
    if (const AttrValue* value = attrs.find(name)) group.set(name, *value);
  return group;
}

}  // namespace

Values psum_transpose(GraphBuilder& b, const TransposeArgs& args) { return b.emit(args.op, {args.cotangents[0]}, args.attrs); }

Values all_gather_transpose(GraphBuilder& b, const TransposeArgs& args) {
  Attrs attrs = group_of(args.attrs);
  attrs.set("tiled", args.attrs.flag("tiled")).set("scatter_dimension", args.attrs.integer("axis"));
  return b.emit(kPsumScatter, {args.cotangents[0]}, attrs);
}

Values psum_scatter_transpose(GraphBuilder& b, const TransposeArgs& args) {
  Attrs attrs = group_of(args.attrs);
  attrs.set("tiled", args.attrs.flag("tiled")).set("axis", args.attrs.integer("scatter_dimension"));
  return b.emit(kAllGather, {args.cotangents[0]}, attrs);
}

Values all_to_all_transpose(GraphBuilder& b, const TransposeArgs& args) {
  if (args.attrs.has("split_sizes"))
    throw_user_error(
        "Transpose rule (for reverse-mode differentiation) for 'all_to_all' with split_sizes not implemented: pad to equal parts");
  Attrs attrs = group_of(args.attrs);
  attrs.set("split_axis", args.attrs.integer("concat_axis")).set("concat_axis", args.attrs.integer("split_axis"));
  return b.emit(args.op, {args.cotangents[0]}, attrs);
}

Values ppermute_transpose(GraphBuilder& b, const TransposeArgs& args) {
  std::vector<std::int64_t> inverse = args.attrs.integers("perm");
  for (std::size_t i = 0; i + 1 < inverse.size(); i += 2) std::swap(inverse[i], inverse[i + 1]);
  Attrs attrs = args.attrs;
  return b.emit(args.op, {args.cotangents[0]}, attrs.set("perm", inverse));
}

// The source's value went everywhere: it gets the sum, the others nothing.
Values pbroadcast_transpose(GraphBuilder& b, const TransposeArgs& args) {
  Attrs group = group_of(args.attrs);
  ValueId sum = b.emit1(kPsum, {args.cotangents[0]}, group);
  ValueId is_source = binary(b, kEqual, b.emit1(kAxisIndex, {}, group), double(args.attrs.integer("source")));
  TensorType type = b.type(sum);
  return {b.emit1(kSelect, {broadcast_to(b, is_source, type.shape), sum, filled(b, type, 0.0)})};
}

Values pvary_transpose(GraphBuilder&, const TransposeArgs& args) { return {args.cotangents[0]}; }

}  // namespace shardlab::ops
