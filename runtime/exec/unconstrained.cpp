#include "runtime/exec/unconstrained.h"

#include "runtime/exec/ops.h"

namespace shardlab {

Array with_sharding_constraint(const Operand& x, const Mesh& mesh, const PartitionSpec& spec) {
  std::vector<SpecEntry> entries;
  std::vector<std::int64_t> open;
  for (std::size_t d = 0; d < spec.entries().size(); ++d) {
    const bool is_open = spec.entries()[d] == SpecEntry(UNCONSTRAINED);
    if (is_open) open.push_back(std::int64_t(d));
    entries.push_back(is_open ? SpecEntry() : spec.entries()[d]);
  }
  const Sharding sharding = NamedSharding(mesh, PartitionSpec(entries), x.where());
  if (open.empty()) return with_sharding_constraint(x, sharding);
  if (mesh.is_explicit())
    throw_user_error(
        "{} cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`. Got mesh {}; name the axes, or make the mesh with an Auto "
        "axis [{}]",
        spec.text(), mesh.text(), x.where().text());
  Attrs attrs{{"sharding", sharding}, {"unconstrained", open}};
  if (mesh.has_explicit_axes()) attrs.set("assertion", true);
  return apply("with_sharding_constraint", {x}, attrs, x.where()).at(0);
}

}  // namespace shardlab
