//===- ExpandLinearAlgebra.cpp - Matrix operations as StableHLO -----------===//
//
// A Fourier transform is a product with a matrix of roots of unity; factoring
// and solving go through the columns of a triangular matrix in a loop. No step
// of a training program spends its time here, so the obvious way will do.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Passes.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Support/PortableMath.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/Sequence.h"

namespace tenon::importer {
#define GEN_PASS_DEF_EXPANDLINEARALGEBRAPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::stablehlo;
namespace chlo = tenon::chlo;

namespace {

/// Longer transforms would need matrices of more than 8 MiB.
constexpr int64_t longestTransform = 1024;

Value broadcast(ImplicitLocOpBuilder &builder, Value value,
                ArrayRef<int64_t> shape) {
  if (typeOf(value).getShape() == shape)
    return value;
  return BroadcastInDimOp::create(
      builder, typeOf(value).clone(shape), value,
      llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape.size()))));
}

Value transposed(ImplicitLocOpBuilder &builder, Value value,
                 ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(typeOf(value).getDimSize(dim));
  return TransposeOp::create(builder, typeOf(value).clone(shape), value,
                             permutation);
}

/// The last two dimensions exchanged.
Value transposed(ImplicitLocOpBuilder &builder, Value matrix) {
  auto permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, typeOf(matrix).getRank()));
  std::swap(permutation[permutation.size() - 1],
            permutation[permutation.size() - 2]);
  return transposed(builder, matrix, permutation);
}

Value conjugated(ImplicitLocOpBuilder &builder, Value value) {
  if (!isa<ComplexType>(typeOf(value).getElementType()))
    return value;
  return chlo::ConjOp::create(builder, value.getType(), value);
}

//===----------------------------------------------------------------------===//
// Fourier transforms
//===----------------------------------------------------------------------===//

/// A constant matrix of `function(row, column)`.
template <typename Function>
Value realMatrix(ImplicitLocOpBuilder &builder, Type element, int64_t rows,
                 int64_t columns, Function function) {
  auto type = RankedTensorType::get({rows, columns}, element);
  SmallVector<APFloat> values;
  values.reserve(size_t(rows * columns));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      APFloat value(double(function(row, column)));
      bool losesInfo;
      value.convert(cast<FloatType>(element).getFloatSemantics(),
                    APFloat::rmNearestTiesToEven, &losesInfo);
      values.push_back(value);
    }
  return ConstantOp::create(
      builder, cast<ElementsAttr>(DenseElementsAttr::get(type, values)));
}

/// The product along one dimension of `value` with a matrix.
Value productAlong(ImplicitLocOpBuilder &builder, Value value, int64_t dim,
                   Value matrix) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  shape.push_back(typeOf(matrix).getDimSize(1));
  auto dims = DotDimensionNumbersAttr::get(builder.getContext(), {}, {}, {dim},
                                           {int64_t(0)});
  Value product =
      DotGeneralOp::create(builder, type.clone(shape), value, matrix, dims,
                           ArrayAttr(), DotAlgorithmAttr());
  // The new dimension is last; it goes where the old one was.
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
  permutation.insert(permutation.begin() + dim, type.getRank() - 1);
  return dim == type.getRank() - 1 ? product
                                   : transposed(builder, product, permutation);
}

/// Matrices whose entry is the cosine or sine of 2 pi row column / length,
/// times a weight of the row.
template <typename Weight>
std::pair<Value, Value> waves(ImplicitLocOpBuilder &builder, Type element,
                              int64_t rows, int64_t columns, int64_t length,
                              Weight weight) {
  return {realMatrix(builder, element, rows, columns,
                     [&](int64_t row, int64_t column) {
                       return weight(row) *
                              tenon::cosineOfTurn(row * column, length);
                     }),
          realMatrix(builder, element, rows, columns,
                     [&](int64_t row, int64_t column) {
                       return weight(row) *
                              tenon::sineOfTurn(row * column, length);
                     })};
}

/// Both parts of a complex tensor.
struct Signal {
  Value real, imaginary;
};

/// (a + i b) (cos -+ i sin), summed along a dimension.
Signal transformAlong(ImplicitLocOpBuilder &builder, Signal signal, int64_t dim,
                      bool isInverse) {
  Type element = typeOf(signal.real).getElementType();
  int64_t length = typeOf(signal.real).getDimSize(dim);
  double scale = isInverse ? 1 / double(length) : 1;
  auto [cosine, sine] = waves(builder, element, length, length, length,
                              [&](int64_t) { return scale; });
  auto product = [&](Value value, Value matrix) {
    return productAlong(builder, value, dim, matrix);
  };
  Value real = product(signal.real, cosine);
  Value imaginary = product(signal.imaginary, cosine);
  Value crossReal = product(signal.imaginary, sine);
  Value crossImaginary = product(signal.real, sine);
  if (isInverse)
    return {SubtractOp::create(builder, real, crossReal),
            AddOp::create(builder, imaginary, crossImaginary)};
  return {AddOp::create(builder, real, crossReal),
          SubtractOp::create(builder, imaginary, crossImaginary)};
}

/// The first half of a real signal's spectrum, along the last dimension.
Signal fromReal(ImplicitLocOpBuilder &builder, Value value) {
  int64_t dim = typeOf(value).getRank() - 1;
  int64_t length = typeOf(value).getDimSize(dim);
  auto [cosine, sine] =
      waves(builder, typeOf(value).getElementType(), length, length / 2 + 1,
            length, [](int64_t) { return 1; });
  return {productAlong(builder, value, dim, cosine),
          NegateOp::create(builder, productAlong(builder, value, dim, sine))};
}

/// The real signal of which `signal` is the first half of the spectrum: what
/// the second half would add is what the first one does.
Value toReal(ImplicitLocOpBuilder &builder, Signal signal, int64_t length) {
  RankedTensorType type = typeOf(signal.real);
  int64_t dim = type.getRank() - 1;
  auto weight = [&](int64_t row) {
    bool isAlone = row == 0 || 2 * row == length;
    return (isAlone ? 1 : 2) / double(length);
  };
  auto [cosine, sine] = waves(builder, type.getElementType(),
                              type.getDimSize(dim), length, length, weight);
  return SubtractOp::create(builder,
                            productAlong(builder, signal.real, dim, cosine),
                            productAlong(builder, signal.imaginary, dim, sine));
}

Value expand(ImplicitLocOpBuilder &builder, FftOp op) {
  ArrayRef<int64_t> lengths = op.getFftLength();
  for (int64_t length : lengths)
    if (length < 1 || length > longestTransform)
      return nullptr;
  FftType kind = op.getFftType();
  bool isInverse = kind == FftType::IFFT || kind == FftType::IRFFT;
  Value operand = op.getOperand();
  int64_t rank = typeOf(operand).getRank();
  // The real side of a transform is its last dimension.
  int64_t last = rank - 1, first = rank - int64_t(lengths.size());
  Signal signal;
  if (kind == FftType::RFFT) {
    signal = fromReal(builder, operand);
    --last;
  } else {
    signal = {RealOp::create(builder, operand),
              ImagOp::create(builder, operand)};
    last -= kind == FftType::IRFFT;
  }
  for (int64_t dim = last; dim >= first; --dim)
    signal = transformAlong(builder, signal, dim, isInverse);
  if (kind == FftType::IRFFT)
    return toReal(builder, signal, lengths.back());
  return ComplexOp::create(builder, signal.real, signal.imaginary);
}

//===----------------------------------------------------------------------===//
// Triangular matrices
//===----------------------------------------------------------------------===//

/// Where the row's (column's) number is related to `index` as `direction` says,
/// for the last two dimensions.
Value maskOf(ImplicitLocOpBuilder &builder, ArrayRef<int64_t> shape, bool rows,
             ComparisonDirection direction, Value index) {
  auto type = RankedTensorType::get(shape, builder.getI32Type());
  Value number =
      IotaOp::create(builder, type, uint64_t(shape.size() - (rows ? 2 : 1)));
  Value spread =
      BroadcastInDimOp::create(builder, type, index, ArrayRef<int64_t>());
  return CompareOp::create(builder, number, spread, direction,
                           ComparisonType::SIGNED);
}

/// The slice at `index` of a dimension, which stays with extent 1.
Value keptSlice(ImplicitLocOpBuilder &builder, Value value, int64_t dim,
                Value index) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape[dim] = 1;
  return ReshapeOp::create(builder, typeOf(value).clone(shape),
                           sliceAt(builder, value, dim, index));
}

/// Column by column: the column of L is the column of what is left of A divided
/// by the root of its diagonal element, and its product with itself is taken
/// off A.
Value expand(ImplicitLocOpBuilder &builder, CholeskyOp op) {
  Value a = op.getA();
  if (!op.getLower())
    a = transposed(builder, conjugated(builder, a));
  RankedTensorType type = typeOf(a);
  ArrayRef<int64_t> shape = type.getShape();
  int64_t row = type.getRank() - 2, column = type.getRank() - 1;
  bool isComplex = isa<ComplexType>(type.getElementType());
  Value zero = zeros(builder, type);
  auto round = [&](Value index, ValueRange carried) -> SmallVector<Value> {
    Value left = carried[0], factor = carried[1];
    Value lane = keptSlice(builder, left, column, index);
    Value pivot = keptSlice(builder, lane, row, index);
    if (isComplex) {
      // The diagonal is real, whatever rounding has left there.
      Value real = RealOp::create(builder, pivot);
      pivot = ComplexOp::create(
          builder, SqrtOp::create(builder, real),
          zeros(builder, cast<RankedTensorType>(real.getType())));
    } else {
      pivot = SqrtOp::create(builder, pivot);
    }
    lane = DivideOp::create(builder, lane,
                            broadcast(builder, pivot, typeOf(lane).getShape()));
    Value below =
        maskOf(builder, shape, /*rows=*/true, ComparisonDirection::GE, index);
    Value spread = broadcast(builder, lane, shape);
    Value kept = SelectOp::create(builder, below, spread, zero);
    Value here =
        maskOf(builder, shape, /*rows=*/false, ComparisonDirection::EQ, index);
    Value across = broadcast(
        builder, transposed(builder, conjugated(builder, lane)), shape);
    return {SubtractOp::create(builder, left,
                               MultiplyOp::create(builder, spread, across)),
            SelectOp::create(builder, here, kept, factor)};
  };
  Value factor = buildCountedLoop(builder, shape[row], {a, zero}, round)[1];
  return op.getLower() ? factor
                       : transposed(builder, conjugated(builder, factor));
}

/// Substitution row by row: a row of X is found, and its part is taken off the
/// rows that are still to be found.
Value expand(ImplicitLocOpBuilder &builder, TriangularSolveOp op) {
  bool isTransposed = op.getTransposeA() != Transpose::NO_TRANSPOSE;
  Value a = op.getA(), b = op.getB();
  if (op.getTransposeA() == Transpose::ADJOINT)
    a = conjugated(builder, a);
  // X op(A) = B is op(A)^T X^T = B^T.
  if (!op.getLeftSide())
    b = transposed(builder, b);
  if (isTransposed == op.getLeftSide())
    a = transposed(builder, a);
  bool isLower = op.getLower() == (isTransposed != op.getLeftSide());
  ArrayRef<int64_t> shape = typeOf(b).getShape();
  int64_t row = typeOf(b).getRank() - 2, column = row + 1, n = shape[row];
  auto round = [&](Value step, ValueRange carried) -> SmallVector<Value> {
    Value index = step;
    if (!isLower)
      index = SubtractOp::create(builder, scalarConstant(builder, n - 1), step);
    Value lane = keptSlice(builder, carried[0], row, index);
    Value coefficients = keptSlice(builder, a, column, index);
    if (!op.getUnitDiagonal())
      lane = DivideOp::create(
          builder, lane,
          broadcast(builder, keptSlice(builder, coefficients, row, index),
                    typeOf(lane).getShape()));
    Value found = broadcast(builder, lane, shape);
    Value rest = SubtractOp::create(
        builder, carried[0],
        MultiplyOp::create(builder, broadcast(builder, coefficients, shape),
                           found));
    Value later = maskOf(
        builder, shape, /*rows=*/true,
        isLower ? ComparisonDirection::GT : ComparisonDirection::LT, index);
    Value here =
        maskOf(builder, shape, /*rows=*/true, ComparisonDirection::EQ, index);
    return {
        SelectOp::create(builder, here, found,
                         SelectOp::create(builder, later, rest, carried[0]))};
  };
  Value x = buildCountedLoop(builder, n, {b}, round)[0];
  return op.getLeftSide() ? x : transposed(builder, x);
}

struct ExpandLinearAlgebra
    : public tenon::importer::impl::ExpandLinearAlgebraPassBase<
          ExpandLinearAlgebra> {
  void runOnOperation() override {
    int64_t expanded = 0;
    getOperation().walk([&](Operation *op) {
      ImplicitLocOpBuilder builder(op->getLoc(), op);
      Value value;
      if (auto fft = dyn_cast<FftOp>(op))
        value = expand(builder, fft);
      else if (auto cholesky = dyn_cast<CholeskyOp>(op))
        value = expand(builder, cholesky);
      else if (auto solve = dyn_cast<TriangularSolveOp>(op))
        value = expand(builder, solve);
      if (!value)
        return;
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
      ++expanded;
    });
    if (expanded)
      remark::passed(getOperation().getLoc(),
                     remark::RemarkOpts::name("expanded")
                         .category("import-expand-linear-algebra")
                         .function(getOperation().getSymName()))
          << remark::add("{0} matrix operations written out in StableHLO",
                         expanded);
  }
};

} // namespace
