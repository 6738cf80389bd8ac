#include "tests/ops/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace shardlab::testing_ops {

Tensor random_tensor(const TensorType& type, std::mt19937& random) {
  auto buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  auto draw = [&](int below) { return int(random() % unsigned(below)); };
  visit_dtype(type.dtype, [&](auto sample) {
    using T = decltype(sample);
    for (std::int64_t i = 0; i < type.elements(); ++i) {
      T& x = buffer->as<T>()[i];
      if constexpr (Bool<T>)
        x = draw(2) == 1;
      else if constexpr (Cplx<T>)
        x = T(Complex128(double(draw(65) - 32) / 16, double(draw(65) - 32) / 16));
      else if constexpr (Whole<T>)
        x = std::is_signed_v<T> ? T(draw(25) - 12) : T(draw(13));
      else
        x = element_from<T>(double(draw(129) - 64) / 32);  // exact in every float
    }
  });
  return {type, buffer};
}

Tensor part_of(const Tensor& tensor, const Box& box) {
  TensorType type{tensor.type.dtype, shape_of(box)};
  auto buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  copy_box(tensor.data->data(), whole(tensor.type.shape), buffer->data(), box, box, size_of(type.dtype));
  return {type, buffer};
}

std::vector<Tensor> run_part(const OpDef& op, const std::vector<TensorType>& operand_types, const std::vector<Tensor>& operands,
                             const std::vector<Box>& operand_boxes, const std::vector<TensorType>& result_types,
                             const std::vector<Box>& result_boxes, const Attrs& attrs) {
  std::vector<ConstView> operand_views;
  for (std::size_t i = 0; i < operands.size(); ++i)
    operand_views.push_back({operands[i].type, operands[i].data->data(), &operand_boxes[i], &operand_types[i].shape});
  std::vector<MutableView> result_views;
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (std::size_t i = 0; i < result_types.size(); ++i) {
    TensorType local{result_types[i].dtype, shape_of(result_boxes[i])};
    buffers.push_back(std::make_shared<Buffer>(std::size_t(local.bytes())));
    result_views.push_back({local, buffers.back()->data(), &result_boxes[i]});
  }
  op.kernel({operand_views, result_views, attrs});
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < result_types.size(); ++i) results.push_back({result_views[i].type, buffers[i]});
  return results;
}

std::vector<Tensor> run(const OpDef& op, const std::vector<Tensor>& operands, const Attrs& attrs) {
  std::vector<TensorType> types;
  std::vector<Box> operand_boxes, result_boxes;
  for (const Tensor& operand : operands) {
    types.push_back(operand.type);
    operand_boxes.push_back(whole(operand.type.shape));
  }
  std::vector<TensorType> result_types = op.infer(op, types, attrs);
  for (const TensorType& type : result_types) result_boxes.push_back(whole(type.shape));
  return run_part(op, types, operands, operand_boxes, result_types, result_boxes, attrs);
}

// The carry handed on, what is made beside it stacked.
static std::vector<Tensor> run_scan(const Attrs& attrs, std::vector<Tensor> operands) {
  const Graph& body = *attrs.bodies()[0];
  const auto consts = std::size_t(attrs.integer("num_consts")), carried = std::size_t(attrs.integer("num_carry")), xs = consts + carried;
  const std::int64_t length = attrs.integer("length");
  std::vector<Tensor> stacks;
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (std::size_t r = carried; r < body.results.size(); ++r) {
    TensorType type = body.type(body.results[r]);
    type.shape.insert(type.shape.begin(), length);
    buffers.push_back(std::make_shared<Buffer>(std::size_t(type.bytes())));
    stacks.push_back({type, buffers.back()});
  }
  for (std::int64_t step = 0; step < length; ++step) {
    const std::int64_t place = attrs.flag("reverse") ? length - 1 - step : step;
    std::vector<Tensor> params(operands.begin(), operands.begin() + std::ptrdiff_t(xs));
    for (std::size_t i = xs; i < operands.size(); ++i) {
      Box row = whole(operands[i].type.shape);
      row[0] = {place, place + 1};
      params.push_back(part_of(operands[i], row));
      params.back().type.shape.erase(params.back().type.shape.begin());
    }
    const std::vector<Tensor> made = run(body, params);
    std::copy(made.begin(), made.begin() + std::ptrdiff_t(carried), operands.begin() + std::ptrdiff_t(consts));
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      const Tensor& each = made[carried + i];
      std::memcpy(buffers[i]->data() + place * each.type.bytes(), each.data->data(), std::size_t(each.type.bytes()));
    }
  }
  std::vector<Tensor> results(operands.begin() + std::ptrdiff_t(consts), operands.begin() + std::ptrdiff_t(xs));
  results.insert(results.end(), stacks.begin(), stacks.end());
  return results;
}

std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& params) {
  std::vector<Tensor> values(graph.values.size());
  for (std::size_t i = 0; i < params.size(); ++i) values[std::size_t(graph.params[i])] = params[i];
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> operands;
    for (ValueId id : node.operands) operands.push_back(values[std::size_t(id)]);
    const bool is_call = node.op->region == RegionKind::kCall;
    std::vector<Tensor> results = is_call                                ? run(*node.attrs.bodies()[0], operands)
                                  : node.op->region == RegionKind::kScan ? run_scan(node.attrs, operands)
                                                                         : run(*node.op, operands, node.attrs);
    for (std::size_t i = 0; i < results.size(); ++i) values[std::size_t(node.results[i])] = results[i];
  }
  std::vector<Tensor> results;
  for (ValueId id : graph.results) results.push_back(values[std::size_t(id)]);
  return results;
}

Graph graph_of(std::string_view op, const std::vector<TensorType>& params, const Attrs& attrs, const std::vector<Scalar>& scalars) {
  const OpDef* def = find_op(op);
  SL_CHECK(def != nullptr, "no op {}", op);
  // 64-bit types are on where the call has one.
  Config config;
  auto is_wide = [](DType dtype) { return canonical(dtype, false) != dtype; };
  for (const TensorType& type : params) config.enable_x64 |= is_wide(type.dtype);
  for (const auto& [name, value] : attrs.entries())
    if (const DType* dtype = std::get_if<DType>(&value)) config.enable_x64 |= is_wide(*dtype);
  GraphBuilder b("main", config);
  std::vector<Arg> args;
  for (const TensorType& type : params) args.push_back(b.param(type));
  for (const Scalar& scalar : scalars) args.push_back(scalar);
  b.set_results(b.call(*def, args, attrs, Where{}));
  Graph graph = b.finish();
  verify(graph);
  return graph;
}

std::vector<Tensor> call(std::string_view op, const std::vector<Tensor>& operands, const Attrs& attrs, const std::vector<Scalar>& scalars) {
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) types.push_back(operand.type);
  return run(graph_of(op, types, attrs, scalars), operands);
}

std::vector<std::complex<double>> numbers(const Tensor& tensor) {
  std::vector<std::complex<double>> result;
  visit_dtype(tensor.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    for (std::int64_t i = 0; i < tensor.type.elements(); ++i) {
      T x = tensor.as<T>()[i];
      if constexpr (Cplx<T>)
        result.emplace_back(x.real(), x.imag());
      else
        result.emplace_back(element_from<double>(x), 0.0);
    }
  });
  return result;
}

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance, const std::string& what) {
  ASSERT_EQ(got.type.text(), wanted.type.text()) << what;
  bool exact = !is_inexact(got.type.dtype);
  if (tolerance > 0 && is_half(got.type.dtype)) tolerance = got.type.dtype == DType::kBfloat16 ? 0x1p-7 : 0x1p-10;
  std::vector<std::complex<double>> a = numbers(got), b = numbers(wanted);
  auto is_near = [&](double x, double y) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    return x == y || (!exact && std::fabs(x - y) <= tolerance * (1 + std::fabs(y)));
  };
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(is_near(a[i].real(), b[i].real()) && is_near(a[i].imag(), b[i].imag()))
        << what << ": element " << i << " is " << a[i] << ", wanted " << b[i];
}

std::string describe(const OpDef& op, const Sample& sample) {
  std::string text = std::string(op.name) + "(";
  for (const TensorType& type : sample.operands) text += (text.back() == '(' ? "" : ", ") + type.text();
  text += ")";
  for (const auto& [name, value] : sample.attrs.entries()) text += " " + name + "=" + text_of(value);
  return text;
}

}  // namespace shardlab::testing_ops
