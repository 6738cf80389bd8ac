// The definition of an op: one const aggregate with its name, documentation, shape rule, factor rule, kernel and samples.
#pragma once

#include <complex>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/graph/attrs.h"
#include "runtime/graph/factor_rule.h"

namespace shardlab {

class GraphBuilder;
struct OpDef;
using ValueId = int;

// How partial results are combined, and the collective's reduction.
enum class Reduction : std::uint8_t { kSum, kProd, kMax, kMin, kAnd, kOr };
std::string_view name_of(Reduction reduction);  // "sum", "prod", …

// A tensor as a kernel sees it: one device's shard.
struct ConstView {
  TensorType type;        // with the shard's shape
  const std::byte* data;  // dense row-major
  const Box* box;         // the shard's global indices
  const Shape* array;     // the shape of the whole array
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
};
struct MutableView {
  TensorType type;
  std::byte* data;
  const Box* box;
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};
struct KernelArgs {
  std::span<const ConstView> operands;
  std::span<const MutableView> results;
  const Attrs& attrs;  // global attributes; a kernel takes local shapes from the views and offsets from the boxes
};
using Kernel = void (*)(const KernelArgs&);

// Elementwise over `count` elements of dense arrays; a scalar operand is given broadcast (see ElementwiseTile::stride).
// `strides[i]` is 0 for a scalar operand, else 1.
using TileFn = void (*)(const void* const* operands, const int* strides, void* result, std::int64_t count);

// One operand of a user's call: a value of the graph being built, or a scalar that takes the other operand's dtype (weak type).
struct Scalar {
  std::variant<bool, std::int64_t, double, std::complex<double>> value;
  bool is_integer() const { return value.index() <= 1; }
  bool is_complex() const { return value.index() == 3; }
  WeakKind kind() const { return WeakKind(value.index()); }
};
using Arg = std::variant<ValueId, Scalar>;

// What the bodies of a node (its attribute "bodies") are to it. Their parameters are the node's operands unless said otherwise.
enum class RegionKind : std::uint8_t {
  kNone,
  kManual,  // one body, run by every device on its own shards of the operands
  kWhile,   // condition and body; the operands are carried, the results are the last carried ones
  kScan,    // one body, repeated over the leading dimension of some operands and results
  kBranch,  // one of the bodies runs: operand 0 says which, the others are its parameters
  kCall,    // one body, as if it stood here, with shardings of its user's
};

struct AttrDef {
  // kIntegerLists: equally long lists of integers, stored one after another: [[2], [1]] is [2, 1]. kLiteral: a number or nested lists.
  // kNames: a name or a list of names. kGroups: lists of integers, each stored after its length: [[0, 2], [1]] is [2, 0, 2, 1, 1].
  enum class Kind : std::uint8_t {
    kInteger,
    kNumber,
    kFlag,
    kString,
    kIntegers,
    kDType,
    kSharding,
    kScalarOrIntegers,
    kIntegerLists,
    kLiteral,
    kNames,
    kGroups
  };
  std::string_view name;
  Kind kind;
  bool required = false;
  std::string_view doc;
};

// Which operands' weakness the results of a user's call have (weak_type in runtime/exec/weak_types.h), as jax.numpy, jax.lax and jax.nn do
// it: weak where these operands together promote to a weak type.
enum class Weakness : std::uint8_t {
  kOfAll,
  kNever,     // the results have a dtype of their own
  kOfFirst,   // the other operands say where, or how often
  kOfOthers,  // the first operand chooses among them
  kOfEach,    // of all, but each keeps its own dtype (sort, meshgrid)
  kOfPower,   // of all, but by integers: a weak result is a weak float raised to weak integers
};

// A small case for the generated tests: operand types and attributes; operands are filled from a seed.
struct Sample {
  std::vector<TensorType> operands;
  Attrs attrs;
};

// --- What the transformations (runtime/transform) ask an op: its derivative, its transpose, its batch.
//
// Rules emit nodes into the builder that they are given, which already attaches the user's line. They get values by id; a value that is
// known to be zero has no node and is kZero, so that nothing is computed for it. A tangent or cotangent has its value's own type;
// values of integers and bool have none, theirs is always kZero.
inline constexpr ValueId kZero = -1;
// Transpose rules: in place of an operand whose cotangent is asked for. It has no value.
inline constexpr ValueId kAsked = -2;

struct JvpArgs {
  const OpDef& op;
  const Attrs& attrs;
  std::span<const ValueId> operands;  // the primal values
  std::span<ValueId> results;         // the primal results, made already; a rule that makes them anew may put its own here
  std::span<const ValueId> tangents;  // one per operand; at least one is not kZero
};
struct TransposeArgs {
  const OpDef& op;
  const Attrs& attrs;
  std::span<const ValueId> operands;  // kAsked where the op is linear in it; the value itself where it is known
  std::span<const TensorType> operand_types;
  std::span<const ValueId> cotangents;  // one per result; at least one is not kZero
};
// A value with the batch as its dimension `dim`, or the same for every element of the batch.
inline constexpr int kNotBatched = -1;
struct Batched {
  ValueId value = kZero;
  int dim = kNotBatched;
};
// The axis that vmap maps over.
struct BatchAxis {
  std::int64_t size = 0;
  std::string name = {};                    // by which collectives name it; empty: they cannot
  std::vector<std::string> mesh_axes = {};  // over which constraints and per-device code cut the batch (spmd_axis_name)
  // In such per-device code: the axes and their devices, of which each has `size` elements of the batch.
  std::vector<std::string> device_axes = {};
  std::int64_t devices = 1;
};
struct BatchArgs {
  const OpDef& op;
  const Attrs& attrs;
  std::span<const Batched> operands;  // at least one is batched, or the op names the axis
  std::int64_t size;                  // of the batch
  const BatchAxis& axis;
};
// One tangent per result, kZero where it is zero whatever the operands' tangents are. What it emits from tangents must be linear in
// them, made of primitives that have a transpose rule in those operands. Not called when all tangents are kZero or no result is
// floating or complex.
using JvpRule = std::vector<ValueId> (*)(GraphBuilder&, const JvpArgs&);
// One cotangent per operand that is kAsked (kZero allowed, and for the known operands). What it emits must itself be differentiable.
using TransposeRule = std::vector<ValueId> (*)(GraphBuilder&, const TransposeArgs&);
// The op for each element of the batch: one entry per result, with the batch where the rule likes it best.
using BatchRule = std::vector<Batched> (*)(GraphBuilder&, const BatchArgs&);

// The part of an operand that a part of the result is computed from.
struct NeededBox {
  Box box;       // global indices of the operand; empty intervals are [0, 0)
  Shape step{};  // per dimension: of the box, each step-th index from its start on is read and no other; empty: every index
};

// Const aggregates filled with designated initialisers, in runtime/ops/<op>.cpp; runtime/ops/list.cpp names them all.
//
// A user's call goes through `expand` into primitive nodes (`jax.numpy`'s mean is reduce_sum and divide, as JAX lowers it). A
// primitive has infer, rule and kernel; its `expand` may adapt operands (promotion, broadcasting) before it emits itself. A composite
// has `expand` alone.
struct OpDef {
  std::string_view name;                           // JAX's
  std::string_view doc;                            // one paragraph: what it computes, shapes, errors
  std::span<const std::string_view> aliases = {};  // "negative" for "neg"
  int operands_min = 1, operands_max = 1;          // -1: any number
  std::span<const AttrDef> attrs = {};
  Weakness weakness = Weakness::kOfAll;

  // Adapts a user's call and emits nodes; the results' ids. Throws UserError naming op, got and wanted.
  std::vector<ValueId> (*expand)(GraphBuilder&, const OpDef&, std::span<const Arg>, const Attrs&) = nullptr;

  // Primitives only.
  std::vector<TensorType> (*infer)(const OpDef&, const std::vector<TensorType>&, const Attrs&) = nullptr;
  FactorRule (*rule)(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) = nullptr;
  std::optional<Reduction> reduction = std::nullopt;  // combines partial results over its reduced factors
  Kernel kernel = nullptr;
  TileFn (*tile)(std::span<const DType> operands, DType result) = nullptr;  // elementwise ops: the kernel of one contiguous run
  // The index map of an op that shifts, strides, mirrors, joins or slides a window along dimensions (slice, pad, rev, concatenate,
  // convolution): what each operand contributes to one box of the result, one entry an operand. A planner that sends a device just
  // these boxes computes any part of the result, whatever the rule says of the dimension (kPermute or kReplicate): this is the halo
  // exchange. Maps compose: the needed box of a slice's result asks the slice for its own.
  //
  // Contract of the kernel of such an op: an operand's view may have any box that contains the needed one (elements that are not
  // needed may be garbage), the result's view any box. All results have the same shape and box.
  std::vector<NeededBox> (*needs)(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&,
                                  const Box& result) = nullptr;
  // The part of its iteration space that it walks, where it passes some of it by (what dilation puts between a convolution's elements);
  // nullptr: all of it.
  double (*walked)(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) = nullptr;
  // The same op in blocks: emits nodes that compute the results so that, with `factor` of the rule cut into `parts` equal parts, only
  // small values cross between the parts (cumsum: each part's total; argmax: each part's best), where otherwise the operand would be
  // gathered. nullptr: there is no such form; an empty result: not for this factor.
  std::vector<ValueId> (*in_parts)(GraphBuilder&, const std::vector<ValueId>& operands, const Attrs&, int factor,
                                   std::int64_t parts) = nullptr;
  bool elementwise = false;    // propagation treats it so (also convert, select, compare, constraint)
  bool constant = false;       // no tensor operands: constant, iota
  bool copies = false;         // dynamic_slice, bitcast: gives bits of an operand as they are, which no planner counts as arithmetic
  bool uses_position = false;  // the result depends on boxes, not on the operands' data alone (iota, slice)
  // What propagation needs beyond the rule. Source: Shardy's op-priority levels and constant splitter.
  bool pass_through = false;    // reshape, transpose: propagates as early as elementwise ops
  bool forward_first = false;   // dynamic_slice, dynamic_update_slice: at first only from operands to results
  bool backward_first = false;  // broadcast_in_dim: only from result to operand until the last level
  bool folds = false;           // broadcast_in_dim, reshape, slice: of constants it is a constant (elementwise ops always are)
  bool broadcasts = false;      // broadcast_in_dim: of a scalar, every element is that scalar
  bool propagates = true;       // false: erf, for which Shardy has no rule; its result lies as those who use it want it, or whole
  bool is_constraint = false;   // identity whose attribute "sharding" fixes its result's sharding
  // Ops with bodies, and ops that stand in the body of a manual region alone; runtime/spmd/region_*.cpp partitions them.
  RegionKind region = RegionKind::kNone;
  const OpDef* reshape = nullptr;    // of per-device code: the op by which a scalar of each device gets a dimension to lie along
  std::string_view collective = {};  // HLO's kind: exchanges data between the devices of the mesh; it has no kernel
  bool member = false;               // the result depends on the device's place in the mesh (collectives, axis_index)
  bool is_primitive() const { return infer != nullptr; }

  // Primitives only; nullptr is a UserError that names the op and the user's line, where one is needed. JAX's rules, in JAX's
  // primitives, so that gradients get its shardings and move no more than its.
  JvpRule jvp = nullptr;              // every op with floating results
  TransposeRule transpose = nullptr;  // ops that are linear in some operand
  BatchRule batch = nullptr;          // elementwise ops and constants need none
  std::vector<Sample> (*samples)() = nullptr;
  bool compiled_alone = false;  // JAX jits the function, so that its module calls it (runtime/graph/call.h)
};

}  // namespace shardlab
