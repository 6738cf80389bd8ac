// schur, eig: Schur forms and eigenvectors of matrices that need not be Hermitian, in complex numbers; and what is made of them.
#include <limits>

#include "runtime/ops/decompositions.h"
#include "runtime/ops/loops.h"

namespace shardlab::ops {
namespace {

// What the words of kernels mean here.
#define FN inline
using f64 = double;
using i64 = std::int64_t;
using std::fabs, std::hypot, std::sqrt;
template <typename T>
constexpr T infinity() {
  return std::numeric_limits<T>::infinity();
}
#include "runtime/ops/schur.inc"
#undef FN

using Types = std::vector<TensorType>;
using Kind = AttrDef::Kind;

TensorType in_complex(TensorType type) {
  type.dtype = complex_dtype(type.dtype);
  return type;
}

Types infer_schur(const OpDef& op, const Types& types, const Attrs&) {
  check_square_matrix(op, types[0]);
  return {in_complex(types[0]), in_complex(types[0])};
}

Types infer_eig(const OpDef& op, const Types& types, const Attrs&) {
  check_square_matrix(op, types[0]);
  return {in_complex(like_matrix(types[0], {types[0].shape.back()})), in_complex(types[0])};
}

// Calls f(matrix, t, u, whether they were found, an element of the results) for each matrix.
template <typename F>
void for_each_matrix(const KernelArgs& args, F&& f) {
  const std::int64_t n = args.operands[0].type.shape.back();
  std::vector<Zed> t(std::size_t(n * n)), u(t.size());
  visit_matrix_dtype(args.operands[0].type.dtype, [&](auto sample) {
    using T = decltype(sample);
    using C = std::complex<RealOf<T>>;
    for (std::int64_t m = 0; m < matrix_count(args.operands[0]); ++m) {
      const T* in = args.operands[0].as<T>() + m * n * n;
      for (std::size_t e = 0; e < t.size(); ++e) t[e] = {double(std::real(in[e])), double(std::imag(in[e]))};
      const bool found = schur_form(t.data(), u.data(), n);
      f(m, t, u, found, C());
    }
  });
}

template <typename C>
C element_of(Zed z, bool found) {
  using R = typename C::value_type;
  return found ? C(R(z.re), R(z.im)) : C(std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::quiet_NaN());
}

void kernel_schur(const KernelArgs& args) {
  if (args.operands[0].type.elements() == 0) return;
  for_each_matrix(args, [&]<typename C>(std::int64_t m, const std::vector<Zed>& t, const std::vector<Zed>& u, bool found, C) {
    for (std::size_t e = 0; e < t.size(); ++e) {
      args.results[0].as<C>()[std::size_t(m) * t.size() + e] = element_of<C>(t[e], found);
      args.results[1].as<C>()[std::size_t(m) * t.size() + e] = element_of<C>(u[e], found);
    }
  });
}

void kernel_eig(const KernelArgs& args) {
  if (args.operands[0].type.elements() == 0) return;
  const std::int64_t n = args.operands[0].type.shape.back();
  std::vector<Zed> v(std::size_t(n * n)), y(v.size());
  for_each_matrix(args, [&]<typename C>(std::int64_t m, const std::vector<Zed>& t, const std::vector<Zed>& u, bool found, C) {
    for (std::int64_t k = 0; k < n; ++k) {
      if (found) schur_vector(t.data(), u.data(), n, k, y.data(), v.data());
      args.results[0].as<C>()[m * n + k] = element_of<C>(t[std::size_t(k * n + k)], found);
    }
    for (std::int64_t e = 0; e < n * n; ++e) args.results[1].as<C>()[m * n * n + e] = element_of<C>(v[std::size_t(e)], found);
  });
}

// Of simple eigenvalues; vectors keep their length and the phase of their largest element. Source: as eigh's.
Values jvp_eig(GraphBuilder& b, const JvpArgs& args) {
  const Term values(b, args.results[0]), v(b, args.results[1]);
  if (v.size(-1) == 0) return {kZero, kZero};
  const Term inner = call(b, "linalg.solve", {v, matrix_product(converted(Term(b, args.tangents[0]), v.dtype()), v)});
  const Term one = unit_matrix(v, v.size(-1));
  const Term apart = 1.0 / (one + expanded(values, values.rank() - 1) - expanded(values, values.rank())) - one;
  Term change = matrix_product(v, apart * inner);
  const Term along = summed(real_part(call("conj", v) * change), {v.rank() - 2}, true);
  change = change - v * converted(along, v.dtype());
  change = change + v * phase_change(v, change);
  return {diagonal(inner).id(), change.id()};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape) { return Sample{{{dtype, std::move(shape)}}, {}}; };
  return {sample(DType::kFloat32, {3, 3}), sample(DType::kFloat64, {4, 3, 3}), sample(DType::kComplex128, {2, 2, 2}),
          sample(DType::kComplex64, {3, 3}), sample(DType::kFloat32, {0, 0})};
}

Term square_operand(GraphBuilder& b, const OpDef& op, const Arg& arg) {
  const Term x = as_inexact(term(b, arg));
  check_square_matrix(op, x.type());
  return x;
}

Values expand_eigvals(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  return {call_all(b, "eig", {square_operand(b, op, args[0])})[0].id()};
}

Values expand_schur(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = square_operand(b, op, args[0]);
  const std::string output = attrs.has("output") ? attrs.string("output") : is_complex(x.dtype()) ? "complex" : "real";
  if (output != "real" && output != "complex")
    throw_user_error("{}: Expected 'output' to be either 'real' or 'complex', got output={}.", op.name, output);
  if (output == "real" && !is_complex(x.dtype()))
    throw_user_error("{}: the quasi-triangular form of real matrices has no op; ask for output \"complex\"", op.name);
  const Terms found = call_all(b, "schur", {x});
  return {found[0].id(), found[1].id()};
}

// The eigenvalues of the companion matrix.
Values expand_roots(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term p = as_inexact(term(b, args[0]));
  if (p.rank() != 1) throw_user_error("{}: Input must be a rank-1 array; got {}", op.name, p.text());
  const std::int64_t n = p.size(0) - 1;
  if (n < 1) return {call(b, "zeros", {}, Attrs{{"shape", Shape{0}}, {"dtype", complex_dtype(p.dtype())}}).id()};
  const Term first = expanded(sliced(p, 0, 1, n + 1) / sliced(p, 0, 0, 1), 0) * -1.0;
  const Term below = sliced(unit_matrix(p, n), 0, 0, n - 1);
  return {call_all(b, "eig", {joined({first, below}, 0)})[0].id()};
}

// Column by column of the Schur form. Source: Bjorck, Hammarling, "A Schur method for the square root of a matrix" (1983).
Values expand_sqrtm(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term x = square_operand(b, op, args[0]);
  if (x.rank() != 2) throw_user_error("{}: Input must be a matrix; got {}", op.name, x.text());
  const Terms found = call_all(b, "schur", {x});
  const Term &t = found[0], &u = found[1];
  const std::int64_t n = t.size(-1);
  const Term rows = call(b, "arange", {n}, Attrs{{"dtype", DType::kInt32}});
  const Term columns = call("matrix_transpose", t);
  const Terms all = repeated_over({t * 0.0, rows, t}, {columns, rows}, [&](const Terms& carry, const Terms& slice) {
    const Term &root = carry[0], &places = carry[1], &column = slice[0], &j = slice[1];
    auto number = [&](const Term& mask) { return converted(mask, root.dtype()); };
    const Term is_above = number(call(root.builder(), "less", {places, j})), is_at = number(call(root.builder(), "equal", {places, j}));
    const Term d = call("sqrt", summed(column * is_at, {0}));
    const Term beside = unit_matrix(root, n) * expanded(is_above * d + (1.0 - is_above), 0);
    const Term above = triangular_solution(root + beside, expanded(column * is_above, 1), {.left_side = true});
    const Term found_column = above + expanded(is_at * d, 1);
    return Terms{root + found_column * expanded(is_at, 0), places, carry[2]};
  });
  return {matrix_product(u, matrix_product(all[0], adjoint(u))).id()};
}

constexpr AttrDef kSchurAttrs[] = {{"output", Kind::kString, false, "complex (the default of complex matrices), the triangular form"}};

}  // namespace

extern const OpDef kSchur, kEig, kEigvals, kLinalgSchur, kRoots, kSqrtm;

const OpDef kSchur =
    decomposition({.name = "schur",
                   .doc = "T, upper triangular, and U, unitary, of square matrices U T U^H [..., n, n], both complex. By shifted QR steps.",
                   .infer = infer_schur,
                   .kernel = kernel_schur,
                   .samples = samples});
constexpr std::string_view kEigAliases[] = {"linalg.eig"};
const OpDef kEig = decomposition(
    {.name = "eig",
     .doc =
         "Eigenvalues [..., n] and eigenvectors of length 1, as columns [..., n, n], of square matrices, both complex. A vector's largest "
         "element is real and positive. By shifted QR steps.",
     .aliases = kEigAliases,
     .infer = infer_eig,
     .kernel = kernel_eig,
     .jvp = jvp_eig,
     .samples = samples});
const OpDef kEigvals = compiled_alone(composite_of({"linalg.eigvals", "Eigenvalues of square matrices, complex.", expand_eigvals}));
const OpDef kLinalgSchur =
    compiled_alone(composite_of({"linalg.schur", "T and U of square matrices U T U^H.", expand_schur, 1, 1, kSchurAttrs}));
const OpDef kRoots = composite_of(
    {"roots", "The roots of a polynomial with these coefficients, the highest power's first and not 0; complex.", expand_roots});
const OpDef kSqrtm = compiled_alone(composite_of({"linalg.sqrtm", "The principal square root of a square matrix, complex.", expand_sqrtm}));

}  // namespace shardlab::ops
