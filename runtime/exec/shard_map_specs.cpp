#include "runtime/exec/shard_map_specs.h"

#include <fmt/ranges.h>

namespace shardlab {
namespace {

std::string axis_names_text(const Mesh& mesh) {
  std::vector<std::string> names;
  for (const std::string& name : mesh.axis_names()) names.push_back(fmt::format("'{}'", name));
  return fmt::format("({})", fmt::join(names, ", "));
}

}  // namespace

void check_map_rank(std::string_view function, const PartitionSpec& spec, const TensorType& type, std::size_t i, bool is_input) {
  if (int(spec.entries().size()) <= type.rank()) return;
  std::string_view in = is_input ? "in" : "out";
  throw_user_error(
      "shard_map applied to the function '{}' was given an {}_specs entry which is too long to be compatible with the corresponding {}put "
      "value from the function:\n\n{}_specs[{}] is {} which has length {}, but {}[{}] has shape {}, which has rank {} (and {} < {})\n\n"
      "Entries in {}_specs must be of length no greater than the number of axes in the corresponding {}put value.\n\nEither revise the "
      "spec to be shorter, or modify '{}' so that its {}puts have sufficient rank.{}",
      function, in, in, in, i, spec.text(), spec.entries().size(), is_input ? "args" : "outs", i, type.text(), type.rank(), type.rank(),
      spec.entries().size(), in, in, function, in,
      type.rank() == 0 ? fmt::format("\n\nFor scalar values (rank 0), consider using an {}_specs entry of `P()`.", in) : "");
}

TensorType mapped_part(std::string_view function, const Mesh& mesh, const PartitionSpec& in_spec, const TensorType& type, std::size_t i) {
  TensorType local = type;
  Spec spec = Sharding(mesh, in_spec).spec(type.rank());
  for (std::size_t d = 0; d < spec.size(); ++d) {
    std::int64_t parts = part_count(spec[d]);
    if (type.shape[d] % parts != 0) {
      std::vector<std::string> names;
      for (const AxisPiece& piece : spec[d]) names.push_back(fmt::format("'{}'", mesh.text_of(piece)));
      bool several = names.size() > 1;
      throw_user_error(
          "shard_map applied to the function '{}' was given argument arrays with axis sizes that are not evenly divisible by the "
          "corresponding mesh axis sizes:\n\nThe mesh given has shape {} with corresponding axis names {}.\n\nthe passed args[{}] of shape "
          "{} corresponds to in_specs[{}] of value {}, which maps array axis {} (of size {}) to mesh {} {} (of {}size {}), but {} does not "
          "evenly divide {}\n\nArray arguments' axis sizes must be evenly divisible by the mesh axis or axes indicated by the "
          "corresponding elements of the argument's in_specs entry. Consider checking that in_specs are correct, and if so consider "
          "changing the mesh axis sizes or else padding the input and adapting '{}' appropriately.",
          function, text_of(mesh.shape()), axis_names_text(mesh), i, type.text(), i, in_spec.text(), d, type.shape[d],
          several ? "axes" : "axis", several ? fmt::format("({})", fmt::join(names, ", ")) : names[0], several ? "total " : "", parts,
          parts, type.shape[d], function);
    }
    local.shape[d] /= parts;
  }
  return local;
}

}  // namespace shardlab
