#include "runtime/ops/random_draw.h"

#include "runtime/ops/shapes.h"

namespace shardlab::ops {

Draw drawing_apart(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, std::span<const DrawParameter> parameters) {
  const DType dtype = dtype_or(b, attrs, WeakKind::kReal);
  const std::string_view name = op.name.substr(op.name.find('.') + 1);
  if (!is_floating(dtype)) throw_user_error("dtype argument to `{}` must be a float dtype, got {}", name, name_of(dtype));
  std::vector<Term> given;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const DrawParameter& parameter = parameters[i];
    const bool is_attr = attrs.has(parameter.name);
    if (args.size() <= i + 1 && !is_attr && !parameter.otherwise)
      throw_user_error("{}() missing 1 required positional argument: '{}'", name, parameter.name);
    given.emplace_back(b, args.size() > i + 1 ? value_of(b, args[i + 1], dtype)
                                              : scalar_constant(b, dtype, is_attr ? attrs.number(parameter.name) : *parameter.otherwise));
  }
  const Shape shape = attrs.has("shape") ? integer_list_of(attrs, "shape") : Shape{};
  check_shape(op.name, shape);
  return {b, term(b, args[0]), dtype, shape, given};
}

Draw drawing(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, std::span<const DrawParameter> parameters) {
  Draw draw = drawing_apart(b, op, args, attrs, parameters);
  const Shape own = draw.shape_of_parameters(op.name);
  if (!attrs.has("shape")) draw.shape = own;
  check_broadcasts_to(op.name, own, draw.shape);
  for (Term& each : draw.parameters) each = broadcast(each, draw.shape);
  return draw;
}

Shape Draw::shape_of_parameters(std::string_view op) const {
  std::vector<Shape> shapes;
  for (const Term& each : parameters) shapes.push_back(each.shape());
  return shapes.empty() ? Shape{} : broadcast_shapes(op, shapes);
}

Draw drawing_whole(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, std::span<const DrawParameter> parameters) {
  const DType dtype = dtype_or(b, attrs, WeakKind::kInteger);
  if (!is_integer(dtype))
    throw_user_error("dtype argument to `{}` must be an int dtype, got {}", op.name.substr(op.name.find('.') + 1), name_of(dtype));
  Attrs own;
  for (const AttrDef& attr : op.attrs)
    if (const AttrValue* value = attrs.find(attr.name); value != nullptr && attr.name != "dtype") own.set(attr.name, *value);
  return drawing(b, op, args, own, parameters);
}

}  // namespace shardlab::ops
