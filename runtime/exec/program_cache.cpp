#include "runtime/exec/program_cache.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/at_place.h"
#include "runtime/base/at_work.h"
#include "runtime/base/planning_time.h"
#include "runtime/base/selected.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/explicit_types.h"
#include "runtime/exec/foreign_meshes.h"
#include "runtime/exec/parts_on_meshes.h"
#include "runtime/exec/results_by_ops.h"
#include "runtime/exec/signature.h"
#include "runtime/graph/dead_parts.h"
#include "runtime/graph/inspection.h"
#include "runtime/ops/region_types.h"
#include "runtime/spmd/inspect.h"
#include "runtime/transform/callbacks_on_first.h"
#include "runtime/transform/held_operands.h"
#include "runtime/transform/inline.h"
#include "runtime/transform/lighten.h"
#include "runtime/transform/simplify.h"
#include "runtime/transform/used_params.h"

namespace shardlab {
namespace {

ProgramRequest with_args(const ProgramRequest& request, const std::vector<bool>& wanted) {
  ProgramRequest part = request;
  part.args = selected(request.args, wanted);
  if (!request.in_shardings.empty()) part.in_shardings = selected(request.in_shardings, wanted);
  part.donated.clear();
  for (int argnum : request.donated)
    if (wanted[std::size_t(argnum)]) part.donated.push_back(int(std::count(wanted.begin(), wanted.begin() + argnum, true)));
  return part;
}

// From which arguments something is computed, or seen; empty: from all.
std::vector<bool> used_arguments(const ProgramRequest& request, const Graph& graph) {
  if (!request.is_jitted || has_inspections(graph)) return {};
  std::vector<bool> used = transform::used_params(graph);
  return std::find(used.begin(), used.end(), false) == used.end() ? std::vector<bool>() : used;
}

// How arguments lie where somebody says it.
std::vector<std::optional<Sharding>> given_shardings(const ProgramRequest& request) {
  std::vector<std::optional<Sharding>> given;
  for (std::size_t i = 0; i < request.args.size(); ++i) {
    const bool is_told = i < request.in_shardings.size() && request.in_shardings[i];
    given.push_back(is_told                       ? request.in_shardings[i]
                    : request.args[i].committed() ? std::optional(request.args[i].sharding())
                                                  : std::nullopt);
  }
  return given;
}

void check_donated(const ProgramRequest& request) {
  for (int argnum : request.donated)
    if (argnum < 0 || argnum >= int(request.args.size()))
      throw_user_error("Jitted function has donate_argnums=({},), but only accepts {} positional arguments. (jit of {}) [{}]", argnum,
                       request.args.size(), request.name, request.where.text());
}

bool anything_committed(const ProgramRequest& request) {
  auto given = [](const auto& sharding) { return sharding.has_value(); };
  return std::any_of(request.args.begin(), request.args.end(), [](const Array& arg) { return arg.committed(); }) ||
         std::any_of(request.in_shardings.begin(), request.in_shardings.end(), given) ||
         std::any_of(request.out_shardings.begin(), request.out_shardings.end(), given);
}

bool is_of_code(const Graph& graph, ValueId value) {
  const NodeId producer = graph.values[std::size_t(value)].producer;
  return producer >= 0 && graph.nodes[std::size_t(producer)].op->region == RegionKind::kManual;
}

}  // namespace

std::string leaves_text(std::string_view root, const KeyPaths& paths, std::size_t count) {
  static constexpr std::size_t kNamedMax = 8;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(count, kNamedMax); ++i) names.push_back(fmt::format("{}{}", root, key_path(paths, i)));
  return fmt::format("{}{}", fmt::join(names, ", "), count > kNamedMax ? fmt::format(" … ({} in all)", count) : "");
}

std::vector<std::optional<Sharding>> result_shardings(const std::vector<std::optional<Sharding>>& given, const LeafCounts& parts,
                                                      const KeyPaths& paths, std::size_t leaves, std::string_view name, Where where) {
  if (given.empty()) return {};
  auto each = tree::spread(given, parts.empty() ? LeafCounts(leaves, 1) : parts);
  if (!each)
    throw_user_error(
        "jit of {}: pjit out_shardings must be a tree prefix of the results, got {} out_shardings for {} results{}; give one each, or one "
        "for each leaf: {} [{}]",
        name, given.size(), parts.empty() ? leaves : parts.size(),
        parts.empty() || parts.size() == leaves ? "" : fmt::format(" with {} leaves", leaves), leaves_text("result", paths, leaves),
        where.text());
  return *each;
}

std::string leaf_text(std::string_view what, std::string_view root, const KeyPaths& paths, std::size_t leaf) {
  return fmt::format("{} with pytree key path {}{}", what, root, key_path(paths, leaf));
}

std::shared_ptr<const Executable> ProgramCache::find(const std::string& key) const {
  auto found = programs_.find(key);
  return found == programs_.end() ? nullptr : found->second;
}

void ProgramCache::add(const std::string& key, std::shared_ptr<const Executable> executable) {
  if (programs_.size() >= kProgramsMax) programs_.clear();
  programs_[key] = std::move(executable);
}

std::shared_ptr<const Executable> prepare_program(Context& context, const std::string& signature, const ProgramRequest& asking) {
  check_donated(asking);
  std::string key = context.mesh() ? signature + signature_of({Sharding(*context.mesh(), Spec{})}) : signature;
  std::optional<Mesh> asked;
  if (context.only_describes()) {
    // The cache is of several processes: a program on a device of one's own is not the others'.
    asked = mesh_of(asking, nullptr);
    if (!asked && !context.mesh()) key += fmt::format(" on {}", context.default_device());
  }
  if (auto found = context.programs().find(key)) return found;
  const PlanningTime first_call;
  if (!asked) asked = mesh_of(asking, nullptr);
  Graph traced = asking.trace(asking.args, asked ? asked : context.mesh());
  const AtWork planning;
  Graph graph = transform::with_held_operands(transform::without_calls(std::move(traced)));
  // Types that Explicit axes give are checked before, as the user wrote the loops.
  const bool is_explicit = (asked && asked->has_explicit_axes()) || (context.mesh() && context.mesh()->has_explicit_axes());
  if (!is_explicit) graph = without_dead_parts(graph);
  const std::vector<bool> used = used_arguments(asking, graph);
  if (!used.empty()) graph = transform::with_params(graph, used);
  graph = transform::simplified(graph, asking.is_jitted);
  const ProgramRequest request = used.empty() ? asking : with_args(asking, used);
  std::optional<Mesh> mesh = mesh_of(asking, &graph, used);
  // Nobody said a mesh but arguments that are not taken: in a cache of several processes this device is not the others'.
  const bool is_own = !mesh && asked && !context.mesh() && context.only_describes();
  if (!mesh) mesh = context.mesh() ? *context.mesh() : Mesh::single(context.default_device());

  const auto out_shardings = result_shardings(request.out_shardings, *request.result_parts, *request.result_paths, graph.results.size(),
                                              request.name, request.where);
  const Mesh first_mesh = *mesh;
  if (!mesh->has_explicit_axes()) {
    mesh = planning_mesh(graph, *mesh, given_shardings(request), out_shardings);
    if (auto parted = with_parts_on_meshes(graph, *mesh, given_shardings(request), out_shardings))
      graph = *std::move(parted);
    else if (auto code = mesh_of_code(graph, *mesh))
      mesh = code;
  }
  spmd::PropagationInput input{&graph, *mesh, {}, {}};
  spmd::ForeignLayouts foreign;
  for (std::size_t i = 0; i < request.args.size(); ++i) {
    const Array& arg = request.args[i];
    if (i < request.in_shardings.size() && request.in_shardings[i]) {
      at_place(request.where, [&] { request.in_shardings[i]->check_fits(arg.type(), "pjit arguments"); });
      input.params.push_back(spec_of(*request.in_shardings[i], *mesh, arg.ndim()));
    } else if (arg.committed()) {
      input.params.push_back(spec_of(arg.sharding(), *mesh, arg.ndim()));
    } else {
      input.params.emplace_back(std::nullopt);
    }
    const bool is_foreign = arg.committed() && !input.params.back();
    foreign.params.push_back(is_foreign ? std::optional(arg.sharding()) : std::nullopt);
  }
  for (std::size_t i = 0; i < graph.results.size(); ++i) {
    if (i < out_shardings.size() && out_shardings[i]) {
      const TensorType& type = graph.type(graph.results[i]);
      at_place(request.where, [&] { out_shardings[i]->check_fits(type, leaf_text("pjit outputs", "result", *request.result_paths, i)); });
      input.results.push_back(spec_of(*out_shardings[i], *mesh, type.rank()));
      foreign.results.push_back(input.results.back() ? std::nullopt : out_shardings[i]);
    } else {
      input.results.emplace_back(std::nullopt);
      foreign.results.push_back(constrained_elsewhere(graph, graph.results[i], *mesh));
    }
    if (foreign.results.back())
      input.results.back() = spmd::like_parts(foreign.results.back()->spec(graph.type(graph.results[i]).rank()), *mesh);
  }
  graph = with_constraints_on(graph, *mesh);
  if (foreign.any()) {
    if (mesh->has_explicit_axes())
      throw_user_error(
          "{} at {}: an array lies on a mesh whose axes do not nest with those of {}, which are Explicit; place it with device_put on the "
          "mesh of the computation",
          request.name, request.where.text(), mesh->text());
    settle_foreign_params(input, foreign);
  }
  if (mesh->has_explicit_axes() || has_explicit_nodes(graph, *mesh)) {
    std::vector<bool> has_out_sharding;
    for (const auto& wanted : input.results) has_out_sharding.push_back(wanted.has_value());
    const MeshSource source = !context.mesh() ? MeshSource::kOperands : request.is_jitted ? MeshSource::kTracedOps : MeshSource::kEagerOps;
    // Where jit's results are to lie says nothing of their types; an op that is called by itself is told its result's.
    ExplicitTypes typed =
        with_explicit_types(graph, *mesh, input.params, source, request.is_jitted ? std::vector<bool>() : has_out_sharding);
    graph = without_dead_parts(std::move(typed.graph));
    // What its type cuts along every dimension lies just so, over no further axis, and on a mesh of Explicit axes alone what per-device
    // code gives does (JAX: its out_sharding is its type's).
    for (std::size_t i = 0; i < typed.results.size(); ++i) {
      const Spec& type = typed.results[i];
      const bool is_cut_all_over = !type.empty() && std::none_of(type.begin(), type.end(), [](const Axes& axes) { return axes.empty(); });
      if (!has_out_sharding[i] && (is_cut_all_over || (mesh->is_explicit() && is_of_code(graph, graph.results[i]))))
        input.results[i] = type;
    }
  }
  if (request.lies_by_ops && !foreign.any() && !mesh->is_explicit()) {
    const std::vector<std::optional<Spec>> found = results_by_ops(input);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (!input.results[i]) input.results[i] = found[i];
  }
  if (has_inspections(graph)) {
    spmd::run_inspections(input);
    graph = without_inspections(graph);
  }
  if (mesh->size() > 1) graph = transform::with_callbacks_on_first(graph, *mesh);
  spmd::PartitionedProgram program = planned(input, foreign, {.exact_results = !request.finer_results, .lighten = transform::lightened});
  auto executable = compile(context, std::move(program), request.name, foreign, *request.weak_results, used, first_mesh);
  if (!is_own) context.programs().add(key, executable);
  return executable;
}

namespace {

// What a value takes on a device that holds a part of it.
std::int64_t part_bytes(const Sharding& sharding, const TensorType& type) {
  std::int64_t parts = 1;
  for (const Axes& axes : sharding.spec(type.rank())) parts *= part_count(axes);
  return type.bytes() / parts;
}

// The donated arguments whose memory some result can take: one result each, with as many bytes on each of the same devices, whatever its
// type and however it lies (as XLA pairs them).
std::vector<bool> usable_donations(const ProgramRequest& request, const Executable& executable) {
  std::vector<bool> donated(request.args.size(), false), taken(executable.result_shardings.size(), false);
  for (int argnum : request.donated) {
    const Array& arg = request.args[std::size_t(argnum)];
    const auto is_same = [&](const Array& other) { return other.impl() == arg.impl(); };
    if (std::count_if(request.args.begin(), request.args.end(), is_same) > 1) continue;  // another argument still needs it
    for (std::size_t r = 0; r < taken.size() && !donated[std::size_t(argnum)]; ++r) {
      const comm::ValueInfo& result = executable.info->results[r];
      const Sharding& there = executable.result_shardings[r];
      if (taken[r] || !there.mesh().same_devices(arg.sharding().mesh())) continue;
      const TensorType type{*dtype_from_name(result.dtype), result.shape};
      if (part_bytes(there, type) != part_bytes(arg.sharding(), arg.type())) continue;
      taken[r] = donated[std::size_t(argnum)] = true;
    }
  }
  return donated;
}

}  // namespace

ProgramRequest taken_of(const ProgramRequest& request, const Executable& executable) {
  return executable.takes.empty() ? request : with_args(request, executable.takes);
}

std::vector<Array> run_program(Context& context, const std::string& key, const ProgramRequest& asking) {
  auto executable = prepare_program(context, key, asking);
  for (const Array& arg : asking.args) check_not_deleted(*arg.impl(), asking.name, asking.where);
  std::optional<ProgramRequest> part;
  if (!executable->takes.empty()) part = taken_of(asking, *executable);
  const ProgramRequest& request = part ? *part : asking;
  bool committed = anything_committed(request) || executable->program.mesh.size() > 1;
  std::vector<bool> donated;
  if (!request.donated.empty()) donated = usable_donations(request, *executable);
  auto results = context.executor().submit(std::move(executable), request.args, committed, request.where, donated);
  if (context.config().debug_nans || context.config().debug_infs)  // told at the call, as in JAX
    for (const Array& result : results)
      if (const auto& launch = result.impl()->launch; launch->finished() && launch->failure()) result.wait_at(request.where, request.name);
  for (std::size_t i = 0; i < donated.size(); ++i)
    if (donated[i]) {
      request.args[i].impl()->deleted = true;
      request.args[i].impl()->tell_end(true);
    }
  return results;
}

}  // namespace shardlab
