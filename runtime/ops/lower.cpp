#include "runtime/ops/lower.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/calls.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {
namespace {

template <typename T>
T scalar_as(const Scalar& scalar) {
  return std::visit(
      [](auto value) -> T {
        using V = decltype(value);
        if constexpr (std::is_same_v<T, bool>) {
          return value != V(0);
        } else if constexpr (Whole<T> && std::is_same_v<V, double>) {
          if (!(value >= -9.2e18 && value <= 9.2e18)) throw_user_error("the number {} has no {} value", value, name_of(dtype_of<T>::value));
          return T(std::int64_t(value));
        } else {
          return element_from<T>(value);
        }
      },
      scalar.value);
}

// Unsigned types take negative numbers too, as they wrap around.
void check_integer_fits(DType dtype, const Scalar& scalar) {
  const auto* value = std::get_if<std::int64_t>(&scalar.value);
  if (value == nullptr || !is_integer(dtype)) return;
  int bits = int(8 * size_of(dtype));
  if (bits == 64) return;
  std::int64_t low = -(std::int64_t(1) << (bits - 1)), high = (std::int64_t(1) << (is_signed_integer(dtype) ? bits - 1 : bits)) - 1;
  if (*value < low || *value > high)
    throw_user_error("Python integer {} out of bounds for {}; use a smaller number or a float", *value, name_of(dtype));
}

}  // namespace

DType dtype_of_arg(const GraphBuilder& b, const Arg& arg) {
  if (const ValueId* value = std::get_if<ValueId>(&arg)) return b.type(*value).dtype;
  return default_dtype(std::get<Scalar>(arg).kind(), b.config().enable_x64);
}

Shape shape_of_arg(const GraphBuilder& b, const Arg& arg) {
  if (const ValueId* value = std::get_if<ValueId>(&arg)) return b.shape(*value);
  return {};
}

DType promoted_dtype(const GraphBuilder& b, Args args) {
  bool x64 = b.config().enable_x64;
  std::optional<DType> dtype;
  for (const Arg& arg : args)
    if (const ValueId* value = std::get_if<ValueId>(&arg))
      dtype = dtype ? promote(*dtype, b.type(*value).dtype, x64) : b.type(*value).dtype;
  WeakKind weak = WeakKind::kBool;
  for (const Arg& arg : args)
    if (const Scalar* scalar = std::get_if<Scalar>(&arg)) weak = std::max(weak, scalar->kind());
  return dtype ? promote_with_weak(*dtype, weak, x64) : default_dtype(weak, x64);
}

DType inexact(DType dtype) {
  if (is_inexact(dtype)) return dtype;
  return size_of(dtype) == 8 ? DType::kFloat64 : DType::kFloat32;
}

DType inexact_beside(const GraphBuilder& b, DType dtype, WeakKind kind) {
  return inexact(promote_with_weak(dtype, kind, b.config().enable_x64));
}

ValueId as_default_integer(GraphBuilder& b, ValueId value) {
  return converted(b, value, default_dtype(WeakKind::kInteger, b.config().enable_x64));
}

DType dtype_or(const GraphBuilder& b, const Attrs& attrs, WeakKind kind) {
  return attrs.has("dtype") ? attrs.dtype("dtype") : default_dtype(kind, b.config().enable_x64);
}

ValueId scalar_constant(GraphBuilder& b, DType dtype, const Scalar& value) {
  check_integer_fits(dtype, value);
  auto buffer = std::make_shared<Buffer>(std::size_t(size_of(dtype)));
  visit_dtype(dtype, [&](auto sample) { *buffer->as<decltype(sample)>() = scalar_as<decltype(sample)>(value); });
  return b.emit1(kConstant, {}, Attrs{{"value", std::make_shared<const Literal>(Literal{{dtype, {}}, std::move(buffer)})}});
}

ValueId scalar_constant(GraphBuilder& b, DType dtype, double value) { return scalar_constant(b, dtype, Scalar{value}); }

ValueId filled(GraphBuilder& b, const TensorType& type, const Scalar& value) {
  return broadcast_to(b, scalar_constant(b, type.dtype, value), type.shape);
}

ValueId filled(GraphBuilder& b, const TensorType& type, double value) { return filled(b, type, Scalar{value}); }

ValueId value_of(GraphBuilder& b, const Arg& arg, DType dtype) {
  if (const ValueId* value = std::get_if<ValueId>(&arg)) return converted(b, *value, dtype);
  return scalar_constant(b, dtype, std::get<Scalar>(arg));
}

ValueId value_of(GraphBuilder& b, const Arg& arg) { return value_of(b, arg, dtype_of_arg(b, arg)); }

ValueId converted(GraphBuilder& b, ValueId value, DType dtype) {
  if (b.type(value).dtype == dtype) return value;
  return b.emit1(kConvert, {value}, Attrs{{"dtype", dtype}});
}

namespace {

ValueId broadcast(GraphBuilder& b, ValueId value, const Shape& shape, bool is_implicit) {
  const Shape from = b.shape(value);
  if (from == shape) return value;
  SL_CHECK(from.size() <= shape.size(), "broadcast of {} to {}", text_of(from), text_of(shape));
  std::size_t added = shape.size() - from.size();
  Shape kept;
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] == 1 && shape[added + d] != 1) continue;
    kept.push_back(from[d]);
    dims.push_back(std::int64_t(added + d));
  }
  Attrs attrs{{"shape", shape}, {"dims", dims}};
  if (is_implicit) attrs.set(kImplicit, true);
  return b.emit1(kBroadcastInDim, {reshaped(b, value, kept)}, std::move(attrs));
}

}  // namespace

ValueId broadcast_to(GraphBuilder& b, ValueId value, const Shape& shape) { return broadcast(b, value, shape, false); }

ValueId reshaped(GraphBuilder& b, ValueId value, const Shape& shape) {
  if (b.shape(value) == shape) return value;
  return b.emit1(kReshape, {value}, Attrs{{"shape", shape}});
}

ValueId transposed(GraphBuilder& b, ValueId value, const std::vector<int>& axes) {
  bool identity = true;
  for (std::size_t d = 0; d < axes.size(); ++d) identity &= axes[d] == int(d);
  if (identity) return value;
  return b.emit1(kTranspose, {value}, Attrs{{"axes", integers_of(axes)}});
}

Values broadcast_together(GraphBuilder& b, std::string_view op, Args args, DType dtype) {
  std::vector<Shape> shapes;
  for (const Arg& arg : args)
    if (std::holds_alternative<ValueId>(arg)) shapes.push_back(shape_of_arg(b, arg));
  Shape shape = broadcast_shapes(op, shapes);
  Values values;
  for (const Arg& arg : args) values.push_back(broadcast(b, value_of(b, arg, dtype), shape, true));
  return values;
}

Values ranked_together(GraphBuilder& b, std::string_view op, Args args, DType dtype) {
  Values values;
  std::vector<Shape> shapes;
  for (const Arg& arg : args) shapes.push_back(b.shape(values.emplace_back(value_of(b, arg, dtype))));
  const std::size_t rank = broadcast_shapes(op, shapes).size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!shapes[i].empty()) shapes[i].insert(shapes[i].begin(), rank - shapes[i].size(), 1);
    values[i] = reshaped(b, values[i], shapes[i]);
  }
  return values;
}

Values expand_promoted(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return b.emit(op, broadcast_together(b, op.name, args, promoted_dtype(b, args)), attrs);
}

Values expand_inexact(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return b.emit(op, broadcast_together(b, op.name, args, inexact(promoted_dtype(b, args))), attrs);
}

Values expand_plain(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Values values;
  for (const Arg& arg : args) values.push_back(value_of(b, arg));
  return b.emit(op, values, attrs);
}

ValueId binary(GraphBuilder& b, const OpDef& op, ValueId x, ValueId y) {
  Shape shape = broadcast_shapes(op.name, {b.shape(x), b.shape(y)});
  ValueId left = broadcast(b, x, shape, true);
  return b.emit1(op, {left, broadcast(b, y, shape, true)});
}

ValueId binary(GraphBuilder& b, const OpDef& op, ValueId x, double y) { return b.emit1(op, {x, filled(b, b.type(x), y)}); }

ValueId unary(GraphBuilder& b, const OpDef& op, ValueId x) { return b.emit1(op, {x}); }

// ---- tile.h

void run_tile(TileSelector selector, const KernelArgs& args) {
  constexpr std::size_t kOperandsMax = 8;
  SL_CHECK(args.operands.size() <= kOperandsMax);
  std::array<const void*, kOperandsMax> operands{};
  std::array<int, kOperandsMax> strides{};
  std::array<DType, kOperandsMax> dtypes{};
  const MutableView& result = args.results[0];
  for (std::size_t i = 0; i < args.operands.size(); ++i) {
    operands[i] = args.operands[i].data;
    strides[i] = args.operands[i].type.rank() == 0 ? 0 : 1;
    dtypes[i] = args.operands[i].type.dtype;
  }
  if (result.type.rank() == 0) strides.fill(1);
  selector({dtypes.data(), args.operands.size()}, result.type.dtype)(operands.data(), strides.data(), result.data, result.type.elements());
}

void check_same_types(const OpDef& op, const std::vector<TensorType>& types) {
  for (const TensorType& type : types) {
    if (type.shape != types[0].shape) {
      std::string shapes;
      for (const TensorType& t : types) shapes += (shapes.empty() ? "" : ", ") + text_of(t.shape);
      throw_user_error("{} got incompatible shapes for broadcasting: {}; from the last dimension on, sizes must be equal or 1", op.name,
                       shapes);
    }
    if (type.dtype != types[0].dtype) {
      std::vector<DType> dtypes;
      for (const TensorType& t : types) dtypes.push_back(t.dtype);
      throw_user_error("{} requires arguments to have the same dtypes, got {}; convert one of them", op.name, dtypes_text(dtypes));
    }
  }
}

void throw_dtype_refused(const OpDef& op, DType got, std::span<const DType> accepted) {
  throw_user_error("{} does not accept dtype {}. Accepted dtypes are {}; convert the operand", op.name, name_of(got),
                   dtypes_text(accepted));
}

}  // namespace shardlab::ops
