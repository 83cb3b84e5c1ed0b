//===- LinearAlgebra.cpp - fft, cholesky, triangular_solve ----------------===//
//
// By their definitions, in double precision: sums in the order of their
// indices, results rounded once.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

//===----------------------------------------------------------------------===//
// Fourier transforms
//===----------------------------------------------------------------------===//

Element elementOf(Complex value) { return {value.real(), 0, value.imag()}; }

/// e^(2 pi i numerator / denominator), exact at the quarters of the circle.
Complex rootOfUnity(int64_t numerator, int64_t denominator) {
  int64_t part = numerator % denominator;
  if (4 * part % denominator == 0)
    switch (4 * part / denominator) {
    case 0:
      return 1;
    case 1:
      return {0, 1};
    case 2:
      return -1;
    default:
      return {0, -1};
    }
  double angle = 2 * std::numbers::pi * double(part) / double(denominator);
  return {std::cos(angle), std::sin(angle)};
}

/// A transform along one dimension; unrounded, so that several of them round
/// once.
void transform(Tensor &tensor, int64_t dim, bool isInverse) {
  if (tensor.size() == 0)
    return;
  int64_t length = tensor.shape()[dim];
  SmallVector<int64_t> outer(tensor.shape());
  outer[dim] = 1;
  std::vector<Complex> roots;
  for (int64_t i = 0; i < length; ++i)
    roots.push_back(rootOfUnity(isInverse ? i : length - i, length));
  Index index(tensor.rank(), 0);
  do {
    std::vector<Complex> line;
    for (Index at(index); at[dim] < length; ++at[dim])
      line.push_back(tensor.at(at).complex());
    for (Index at(index); at[dim] < length; ++at[dim]) {
      Complex sum = 0;
      for (int64_t i = 0; i < length; ++i)
        sum += line[i] * roots[i * at[dim] % length];
      tensor.at(at) = elementOf(isInverse ? sum / double(length) : sum);
    }
  } while (next(index, outer));
}

Tensor roundedElements(Tensor tensor) {
  for (Element &element : tensor.elements)
    element = round(element, tensor.elementType());
  return tensor;
}

LogicalResult evaluateFft(Operation *op, Interpreter &,
                          ArrayRef<Tensor> operands, Tensors &results) {
  auto fft = cast<stablehlo::FftOp>(op);
  auto type = fft.getFftType();
  bool isInverse =
      type == stablehlo::FftType::IFFT || type == stablehlo::FftType::IRFFT;
  bool toReal = type == stablehlo::FftType::IRFFT;
  RankedTensorType result = resultType(op);
  int64_t rank = result.getRank();
  int64_t first = rank - int64_t(fft.getFftLength().size());
  // All transforms run on complex tensors of the full length.
  SmallVector<int64_t> shape(operands[0].shape());
  if (toReal)
    shape[rank - 1] = fft.getFftLength().back();
  auto real = dyn_cast<FloatType>(operands[0].elementType());
  Type wide = real ? Type(ComplexType::get(real)) : operands[0].elementType();
  Tensor full(RankedTensorType::get(shape, wide));
  if (full.size() != 0) {
    Index index(rank, 0);
    do {
      Index from(index);
      bool isMirrored =
          toReal && from[rank - 1] >= operands[0].shape()[rank - 1];
      // The second half of a real signal's spectrum is the first one's mirror.
      if (isMirrored)
        for (int64_t dim = first; dim < rank; ++dim)
          from[dim] = (shape[dim] - from[dim]) % shape[dim];
      Complex value = operands[0].at(from).complex();
      full.at(index) = elementOf(isMirrored ? std::conj(value) : value);
    } while (next(index, shape));
  }
  for (int64_t dim = rank - 1; dim >= first; --dim)
    transform(full, dim, isInverse);
  Tensor kept(result);
  if (kept.size() != 0) {
    Index index(rank, 0);
    do
      kept.at(index) = full.at(index);
    while (next(index, result.getShape()));
  }
  results.push_back(roundedElements(std::move(kept)));
  return success();
}

//===----------------------------------------------------------------------===//
// Triangular matrices
//===----------------------------------------------------------------------===//

/// Calls `visit` with the index of each matrix's first element.
template <typename Visit>
void forEachMatrix(ArrayRef<int64_t> shape, Visit visit) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> outer(shape);
  outer[shape.size() - 2] = outer[shape.size() - 1] = 1;
  Index index(shape.size(), 0);
  do
    visit(index);
  while (next(index, outer));
}

Index entry(const Index &matrix, int64_t row, int64_t column) {
  Index at(matrix);
  at[at.size() - 2] = row;
  at[at.size() - 1] = column;
  return at;
}

/// L with L L^H = A column by column, or the U of U^H U = A, which is L^H; all
/// NaN where A is not positive definite.
LogicalResult evaluateCholesky(Operation *op, Interpreter &,
                               ArrayRef<Tensor> operands, Tensors &results) {
  bool lower = cast<stablehlo::CholeskyOp>(op).getLower();
  const Tensor &a = operands[0];
  Tensor result(resultType(op));
  int64_t n = a.shape().back();
  forEachMatrix(a.shape(), [&](const Index &matrix) {
    std::vector<std::vector<Complex>> l(n, std::vector<Complex>(n));
    bool isDefinite = true;
    for (int64_t j = 0; j < n && isDefinite; ++j)
      for (int64_t i = j; i < n; ++i) {
        Complex sum = lower ? a.at(entry(matrix, i, j)).complex()
                            : std::conj(a.at(entry(matrix, j, i)).complex());
        for (int64_t k = 0; k < j; ++k)
          sum -= l[i][k] * std::conj(l[j][k]);
        if (i == j) {
          isDefinite = sum.real() > 0;
          l[j][j] = std::sqrt(sum.real());
        } else {
          l[i][j] = sum / l[j][j];
        }
      }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        Complex value = isDefinite ? l[i][j] : Complex(NAN, NAN);
        result.at(lower ? entry(matrix, i, j) : entry(matrix, j, i)) =
            elementOf(lower ? value : std::conj(value));
      }
  });
  results.push_back(roundedElements(std::move(result)));
  return success();
}

/// op(A) X = B or X op(A) = B by substitution. The second is the first for the
/// transposed matrices.
LogicalResult evaluateTriangularSolve(Operation *op, Interpreter &,
                                      ArrayRef<Tensor> operands,
                                      Tensors &results) {
  auto solve = cast<stablehlo::TriangularSolveOp>(op);
  auto transpose = solve.getTransposeA();
  bool transposed = transpose != stablehlo::Transpose::NO_TRANSPOSE;
  bool conjugated = transpose == stablehlo::Transpose::ADJOINT;
  const Tensor &a = operands[0], &b = operands[1];
  int64_t n = a.shape().back();
  int64_t count = b.shape()[b.rank() - (solve.getLeftSide() ? 1 : 2)];
  Tensor result(resultType(op));
  forEachMatrix(b.shape(), [&](const Index &matrix) {
    // The matrix that multiplies X from the left.
    auto coefficient = [&](int64_t i, int64_t j) -> Complex {
      if (i == j && solve.getUnitDiagonal())
        return 1;
      bool swapped = transposed != !solve.getLeftSide();
      Complex value =
          a.at(swapped ? entry(matrix, j, i) : entry(matrix, i, j)).complex();
      return conjugated ? std::conj(value) : value;
    };
    bool isLower = solve.getLower() == (transposed == !solve.getLeftSide());
    for (int64_t column = 0; column < count; ++column) {
      auto at = [&](int64_t i) {
        return solve.getLeftSide() ? entry(matrix, i, column)
                                   : entry(matrix, column, i);
      };
      std::vector<Complex> x(n);
      for (int64_t step = 0; step < n; ++step) {
        int64_t i = isLower ? step : n - 1 - step;
        Complex sum = b.at(at(i)).complex();
        for (int64_t k = 0; k < step; ++k) {
          int64_t j = isLower ? k : n - 1 - k;
          sum -= coefficient(i, j) * x[j];
        }
        x[i] = sum / coefficient(i, i);
        result.at(at(i)) = elementOf(x[i]);
      }
    }
  });
  results.push_back(roundedElements(std::move(result)));
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::linearAlgebraEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.cholesky", evaluateCholesky},
      {"stablehlo.fft", evaluateFft},
      {"stablehlo.triangular_solve", evaluateTriangularSolve},
  };
  return table;
}
