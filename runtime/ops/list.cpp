// Names every op. A new one is one word here.
#include <algorithm>
#include <map>
#include <vector>

#include "runtime/ops/op_tables.h"
#include "runtime/ops/registry.h"

// clang-format off
#define SHARDLAB_OPS(X) \
  /* constants  */ X(Constant) X(Iota) X(Arange) X(Linspace) X(Logspace) X(Zeros) X(Ones) X(Empty) X(Full) X(ZerosLike) X(OnesLike) X(FullLike) \
                   X(Eye) \
  /* unary      */ X(Abs) X(Cbrt) X(Ceil) X(Clz) X(Conj) X(Floor) X(Imag) X(IsFinite) X(Neg) X(Not) X(PopulationCount) X(Real) X(Round) \
                   X(Rint) X(Rsqrt) X(Sign) X(Sqrt) X(Trunc) \
                   X(Acos) X(Acosh) X(Asin) X(Asinh) X(Atan) X(Atanh) X(Cos) X(Cosh) X(Exp) X(Exp2) X(Expm1) X(Log) X(Log1p) X(Logistic) \
                   X(Sin) X(Sinh) X(Tan) X(Tanh) X(Digamma) X(Erf) X(ErfInv) X(Erfc) X(Lgamma) \
                   X(CosineIntegral) X(Dawsn) X(Erfcx) X(Expi) X(Expn) X(FresnelCosine) X(FresnelSine) X(Hyp1f1) \
                   X(Hyp1f1GradA) X(Hyp1f1GradB) X(Hyp2f1) X(Hyp2f1GradA) X(Hyp2f1GradB) X(Hyp2f1GradC) X(OwensT) X(SineIntegral) X(Igamma) X(IgammaGradA) X(Igammac) X(IncompleteBeta) X(RandomGammaGrad) X(RandomGammaGradByA) X(RoundToPrecision) \
  /* binary     */ X(Add) X(And) X(Atan2) X(Complex) X(Div) X(Maximum) X(Minimum) X(Mul) X(NextAfter) X(Or) X(Pow) X(Rem) X(Remainder) X(ShiftLeft) \
                   X(ShiftRightArithmetic) X(ShiftRightLogical) X(Sub) X(Xor) \
                   X(FloorDivide) X(Fmod) X(Gcd) \
  /* compare    */ X(Equal) X(Greater) X(GreaterEqual) X(Less) X(LessEqual) X(NotEqual) \
  /* truth      */ X(LogicalAnd) X(LogicalNot) X(LogicalOr) X(LogicalXor) X(IsNan) \
  /* choose     */ X(CheckpointName) X(Clamp) X(Clip) X(Convert) X(EnterAutoAxes) X(FoundInARow) X(PassedAgain) X(Select) X(Where) X(ShardingConstraint) X(StopGradient) \
  /* shape      */ X(BroadcastInDim) X(BroadcastTo) X(Concatenate) X(ExpandDims) X(Pad) X(Ravel) X(Reshape) X(Rev) X(Slice) X(SlidingWindows) X(Squeeze) X(Transpose) \
  /* reduce     */ X(ReduceAnd) X(ReduceMax) X(ReduceMin) X(ReduceOr) X(ReduceProd) X(ReduceSum) \
                   X(All) X(Any) X(Max) X(Mean) X(Min) X(Prod) X(Std) X(Sum) X(Var) \
  /* search     */ X(Argmax) X(Argmin) X(Argsort) X(Cummax) X(Cummin) X(Cumprod) X(Cumsum) X(Sort) X(TopK) \
  /* places     */ X(DynamicSlice) X(DynamicUpdateSlice) X(Gather) X(Scatter) X(ScatterAdd) X(ScatterMax) X(ScatterMin) X(ScatterMul) \
  /* moves      */ X(ArraySplit) X(ColumnStack) X(Diff) X(Dstack) X(Flip) X(Fliplr) X(Flipud) X(Hstack) X(Moveaxis) X(Repeat) X(Roll) \
                   X(Split) X(Stack) X(Swapaxes) X(Tile) X(Vstack) X(Take) X(TakeAlongAxis) X(DynamicIndexInDim) \
                   X(DynamicUpdateIndexInDim) \
  /* matrices   */ X(Diag) X(Diagonal) X(Identity) X(Inner) X(Kron) X(Meshgrid) X(Outer) X(Tensordot) X(Trace) X(Tri) X(Tril) X(Triu) \
                   X(Vdot) \
  /* products   */ X(AvgPool) X(Conv) X(Dot) X(DotGeneral) X(Einsum) X(Matmul) X(MaxPool) X(MinPool) X(ReduceWindow) X(SelectAndGatherAdd) \
                   X(SelectAndScatterAdd) \
  /* networks   */ X(Gelu) X(LogSoftmax) X(Logsumexp) X(Relu) X(Silu) X(Softmax) X(Softplus) X(Square) \
                   X(Celu) X(Elu) X(HardSigmoid) X(HardSilu) X(HardTanh) X(LeakyRelu) X(LogSigmoid) X(Mish) X(OneHot) X(Relu6) X(Selu) \
                   X(SoftSign) X(Squareplus) X(Glu) \
  /* numpy      */ X(Angle) X(Bitcast) X(Copysign) X(Deg2rad) X(Divmod) X(Fabs) X(Fmax) X(Fmin) X(Heaviside) X(Hypot) X(IsClose) X(IsInf) \
                   X(IsNegInf) X(IsPosInf) X(Lcm) X(Log10) X(Log2) X(Logaddexp) X(Logaddexp2) X(Modf) X(NanToNum) X(Positive) \
                   X(Rad2deg) X(Reciprocal) X(Signbit) X(Sinc) \
                   X(Allclose) X(ArrayEqual) X(Average) X(Bincount) X(Median) X(Percentile) X(Quantile) X(Searchsorted) \
                   X(CountNonzero) X(Nanmax) X(Nanmean) X(Nanmin) X(Nanprod) X(Nanstd) X(Nansum) X(Nanvar) X(Ptp) \
  /* edits      */ X(Append) X(Atleast1d) X(Atleast2d) X(Atleast3d) X(BroadcastArrays) X(Delete) X(Dsplit) X(Ediff1d) X(Hsplit) X(Insert) \
                   X(MatrixTranspose) X(Resize) X(Rollaxis) X(Rot90) X(Unstack) X(Vsplit) \
  /* sets       */ X(Intersect1d) X(Setdiff1d) X(Setxor1d) \
  /* which      */ X(Argwhere) X(Compress) X(Diagflat) X(Extract) X(FillDiagonal) X(Flatnonzero) X(Isin) X(Nonzero) X(PlaceAt) X(Put) \
                   X(PutAlongAxis) X(Union1d) X(Unique) \
  /* polynomial */ X(Convolve) X(Correlate) X(Poly) X(Polyadd) X(Polyder) X(Polydiv) X(Polyfit) X(Polyint) X(Polymul) X(Polysub) X(Polyval) X(Vander) \
  /* counting   */ X(Argpartition) X(Digitize) X(Histogram) X(Histogram2d) X(HistogramBinEdges) X(Lexsort) X(Nanargmax) X(Nanargmin) \
                   X(Nancumprod) X(Nancumsum) X(Nanmedian) X(Nanpercentile) X(Nanquantile) X(Partition) X(SortComplex) \
  /* calculus   */ X(Corrcoef) X(Cov) X(Cross) X(Gradient) X(Interp) X(Trapezoid) X(Unwrap) \
  /* bits       */ X(ArrayEquiv) X(FloatPower) X(Frexp) X(Iscomplex) X(Isreal) X(Ldexp) X(Packbits) X(Spacing) X(Unpackbits) \
  /* ramps      */ X(Bartlett) X(Blackman) X(DiagIndices) X(DiagIndicesFrom) X(Geomspace) X(Hamming) X(Hanning) X(Indices) X(Kaiser) \
                   X(TrilIndices) X(TrilIndicesFrom) X(TriuIndices) X(TriuIndicesFrom) X(UnravelIndex) \
  /* special    */ X(Beta) X(Betaln) X(Entr) X(Factorial) X(GammaFunction) X(Gammasgn) X(I0) X(I0e) X(I1) X(I1e) X(KlDiv) X(LogNdtr) \
                   X(Logit) X(Multigammaln) X(Ndtr) X(RelEntr) X(Xlog1py) X(Xlogy) \
                   X(BesselJn) X(Boxcox) X(Boxcox1p) X(Comb) X(Exp1) X(Gammainc) X(Gammaincc) X(Ndtri) X(Poch) X(Polygamma) X(Spence) X(Zeta) X(Fresnel) X(Sici) X(Wofz) \
  /* kin        */ X(BatchMatmul) X(Collapse) X(DotProductAttention) X(DynamicSliceInDim) X(DynamicUpdateSliceInDim) X(IndexInDim) \
                   X(IntegerPow) X(Log1mexp) X(Logmeanexp) X(SegmentMax) X(SegmentMin) X(SegmentProd) X(SegmentSum) X(SliceInDim) \
                   X(SparsePlus) X(SparseSigmoid) X(Standardize) \
  /* norms      */ X(MatrixNorm) X(MatrixPower) X(Matvec) X(MultiDot) X(Norm) X(Vecdot) X(Vecmat) X(VectorNorm) \
  /* linalg     */ X(Cholesky) X(Eig) X(Eigh) X(Eigvals) X(LinalgSchur) X(Roots) X(Schur) X(Sqrtm) X(Lu) X(Qr) X(Svd) X(TriangularSolve) \
                   X(ChoSolve) X(ConditionNumber) X(Det) X(Eigvalsh) X(Inv) X(LinalgCholesky) X(LinalgEigh) X(LinalgQr) X(LinalgSvd) X(Lstsq) \
                   X(BlockDiag) X(Tensorinv) X(Tensorsolve) \
                   X(MatrixRank) X(Pinv) X(Slogdet) X(Solve) X(SolveTriangular) X(Svdvals) \
  /* random     */ X(RandomBernoulli) X(RandomBits) X(RandomCategorical) X(RandomCauchy) X(RandomChild) X(RandomChoice) \
                   X(RandomExponential) X(RandomFoldIn) X(RandomGumbel) \
                   X(RandomIndices) X(RandomKey) X(RandomLaplace) X(RandomLogistic) X(RandomNormal) X(RandomPermutation) \
                   X(RandomRademacher) X(RandomRandint) X(RandomSplit) X(RandomTruncatedNormal) X(RandomUniform) X(Threefry2x32) \
  /* kin of it  */ X(RandomDoubleSidedMaxwell) X(RandomGeometric) X(RandomLognormal) X(RandomMaxwell) X(RandomPareto) X(RandomRayleigh) \
                   X(RandomTriangular) X(RandomWald) X(RandomWeibullMin) X(Hfft) X(Ihfft) \
                   X(RandomMultivariateNormal) X(RandomOrthogonal) \
                   X(RandomBall) X(RandomBeta) X(RandomBinomial) X(RandomChisquare) X(RandomDirichlet) X(RandomF) X(RandomGamma) \
                   X(RandomGammaDraw) X(RandomGeneralizedNormal) X(RandomLoggamma) X(RandomMultinomial) X(RandomPoisson) X(RandomT) \
  /* weights    */ X(GlorotNormal) X(GlorotUniform) X(HeNormal) X(HeUniform) X(LecunNormal) X(LecunUniform) X(OrthogonalInitializer) \
                   X(VarianceScaling) \
  /* of jax.lax */ X(ApproxMaxK) X(ApproxMinK) X(Broadcast) X(ConvPatches) X(ConvTranspose) X(Cumlogsumexp) X(RaggedDot) X(ReducePrecision) \
                   X(SortKeyVal) \
  /* choices    */ X(Choose) X(Ix) X(NumpySelect) X(RavelMultiIndex) X(SelectN) \
  /* images     */ X(ImageResize) X(MapCoordinates) X(ScaleAndTranslate) \
  /* scipy      */ X(ChoFactor) X(Expm) X(LuFactor) X(LuPivots) X(LuSolve) X(Polar) X(TridiagonalSolve) \
                   X(Circulant) X(Companion) X(ConvolutionMatrix) X(Dft) X(Fiedler) X(Hadamard) X(Hankel) X(Helmert) X(Hilbert) X(Invhilbert) \
                   X(Leslie) X(Pascal) X(Toeplitz) \
  /* stats      */ X(DirichletLogpdf) X(DirichletPdf) X(MultinomialLogpmf) X(MultinomialPmf) X(MultivariateNormalLogpdf) \
                   X(MultivariateNormalPdf) X(Rankdata) X(Sem) \
  /* signals    */ X(Dct) X(Dctn) X(Fftconvolve) X(Idct) X(Idctn) X(SignalConvolve) \
  /* fourier    */ X(Fft) X(Fft2) X(FftAxis) X(Fftfreq) X(Fftn) X(Fftshift) X(Ifftshift) X(Ifft) X(Ifft2) X(Ifftn) X(Irfft) X(Irfft2) X(Irfftn) \
                   X(Rfft) X(Rfft2) \
                   X(Rfftfreq) X(Rfftn)
// Nodes with bodies, nodes without results, and what stands in the body of a manual region alone: without kernels, so the generated tests leave them out.
#define SHARDLAB_REGION_OPS(X) \
  /* bodies      */ X(Checkpoint) X(Cond) X(CutAsBatch) X(CustomJvpCall) X(CustomLinearSolve) X(CustomPartitioning) X(CustomVjpCall) X(CustomVjpTangents) X(DebugCallback) X(InspectSharding) X(IoCallback) X(OnMesh) X(OptimizationBarrier) X(PureCallback) X(Scan) X(ShardMap) X(WhileLoop) \
  /* collectives */ X(AllGather) X(AllToAll) X(Pbroadcast) X(Pmax) X(Pmean) X(Pmin) X(Ppermute) X(Psum) X(PsumScatter) \
  /* places      */ X(AxisIndex) X(AxisSize) X(Pvary)
// clang-format on

namespace shardlab {
namespace ops {
#define SHARDLAB_DECLARE(name) extern const OpDef k##name;
SHARDLAB_OPS(SHARDLAB_DECLARE)
SHARDLAB_REGION_OPS(SHARDLAB_DECLARE)
#undef SHARDLAB_DECLARE
}  // namespace ops

namespace {

const std::vector<const OpDef*>& sorted_ops() {
  static const auto& sorted = *new std::vector<const OpDef*>([] {
#define SHARDLAB_ADDRESS(name) &ops::k##name,
    std::vector<const OpDef*> all = {SHARDLAB_OPS(SHARDLAB_ADDRESS)};
    for (const OpDef& op : ops::distribution_ops()) all.push_back(&op);
#undef SHARDLAB_ADDRESS
    std::sort(all.begin(), all.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
    return all;
  }());
  return sorted;
}

const std::vector<const OpDef*>& sorted_region_ops() {
  static const auto& sorted = *new std::vector<const OpDef*>([] {
#define SHARDLAB_ADDRESS(name) &ops::k##name,
    std::vector<const OpDef*> all = {SHARDLAB_REGION_OPS(SHARDLAB_ADDRESS)};
#undef SHARDLAB_ADDRESS
    std::sort(all.begin(), all.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
    return all;
  }());
  return sorted;
}

}  // namespace

const OpDef* find_op(std::string_view name_or_alias) {
  static const auto& by_name = *new std::map<std::string_view, const OpDef*>([] {
    std::map<std::string_view, const OpDef*> names;
    for (const auto* list : {&sorted_ops(), &sorted_region_ops()})
      for (const OpDef* op : *list) {
        SL_CHECK(names.emplace(op->name, op).second, "two ops are called {}", op->name);
        for (std::string_view alias : op->aliases) SL_CHECK(names.emplace(alias, op).second, "two ops are called {}", alias);
      }
    return names;
  }());
  auto found = by_name.find(name_or_alias);
  return found == by_name.end() ? nullptr : found->second;
}

std::span<const OpDef* const> all_ops() { return sorted_ops(); }
std::span<const OpDef* const> region_ops() { return sorted_region_ops(); }

}  // namespace shardlab
