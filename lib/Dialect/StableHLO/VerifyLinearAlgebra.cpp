//===- VerifyLinearAlgebra.cpp - Constraints of linear algebra -----------===//
//
// The verifiers of cholesky, triangular_solve and fft. Labels are the
// constraint numbers of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

using namespace mlir;
using namespace tenon::stablehlo;

static LogicalResult checkMatrix(Operation *op, Subject name,
                                 ArrayRef<int64_t> shape) {
  if (shape.size() >= 2)
    return success();
  return op->emitOpError() << name << " has rank " << shape.size()
                           << ", expected at least 2";
}

static LogicalResult checkSquare(Operation *op, Subject name,
                                 ArrayRef<int64_t> shape) {
  size_t rank = shape.size();
  if (agree(shape[rank - 2], shape[rank - 1]))
    return success();
  return op->emitOpError() << "dimensions " << rank - 2 << " and " << rank - 1
                           << " of " << name << " have sizes "
                           << shape[rank - 2] << " and " << shape[rank - 1]
                           << ", expected a square matrix";
}

LogicalResult CholeskyOp::verify() {
  // cholesky_c1 is the trait CompatibleTypes.
  ArrayRef<int64_t> shape = shapeOf(getA());
  // cholesky_c2
  if (failed(checkMatrix(*this, "a", shape)))
    return failure();
  // cholesky_c3
  return checkSquare(*this, "a", shape);
}

LogicalResult TriangularSolveOp::verify() {
  // triangular_solve_c1
  if (failed(checkSameBaselineElementType(*this, "a", getA().getType(), "b",
                                          getB().getType())))
    return failure();
  // triangular_solve_c2
  ArrayRef<int64_t> a = shapeOf(getA()), b = shapeOf(getB());
  if (failed(checkMatrix(*this, "a", a)))
    return failure();
  if (a.size() != b.size())
    return emitOpError() << "'b' has rank " << b.size()
                         << ", expected the rank " << a.size() << " of 'a'";
  // triangular_solve_c3
  size_t rank = a.size();
  if (failed(checkSquare(*this, "a", a)))
    return failure();
  for (size_t i = 0; i + 2 < rank; ++i)
    if (!agree(a[i], b[i]))
      return emitOpError() << "batch dimension " << i << " has size " << a[i]
                           << " in 'a' and " << b[i]
                           << " in 'b', expected equal sizes";
  size_t solved = getLeftSide() ? rank - 2 : rank - 1;
  if (!agree(a[rank - 1], b[solved]))
    return emitOpError() << "dimension " << solved << " of 'b' has size "
                         << b[solved] << ", expected " << a[rank - 1]
                         << ", the order of the matrix 'a'";
  // triangular_solve_c4
  return checkSameBaselineType(*this, "b", getB().getType(), "result",
                               getResult().getType());
}

/// The element type of the side that is not real, or of both: complex over the
/// real one.
static LogicalResult checkFftElements(FftOp op) {
  Type operand = elementTypeOf(op.getOperand().getType());
  Type result = elementTypeOf(op.getResult().getType());
  Type expected;
  switch (op.getFftType()) {
  case FftType::FFT:
  case FftType::IFFT:
    expected = isa<ComplexType>(operand) ? operand : Type();
    break;
  case FftType::RFFT:
    expected = isa<FloatType>(operand) ? ComplexType::get(operand) : Type();
    break;
  case FftType::IRFFT:
    if (auto complex = dyn_cast<ComplexType>(operand))
      expected = complex.getElementType();
    break;
  }
  if (!expected)
    return op.emitOpError()
           << "'operand' has element type " << operand << ", expected a "
           << (op.getFftType() == FftType::RFFT ? "real" : "complex")
           << " one for " << stringifyFftType(op.getFftType());
  if (result != expected)
    return op.emitOpError()
           << "'result' has element type " << result << ", expected "
           << expected << " for " << stringifyFftType(op.getFftType());
  return success();
}

LogicalResult FftOp::verify() {
  ArrayRef<int64_t> lengths = getFftLength();
  ArrayRef<int64_t> operand = shapeOf(getOperand());
  int64_t count = lengths.size();
  // fft_c1
  if (count > int64_t(operand.size()))
    return emitOpError() << "'fft_length' has "
                         << counted(count, "entry", "entries")
                         << ", expected at most the rank " << operand.size()
                         << " of 'operand'";
  // fft_c3
  if (count < 1 || count > 3)
    return emitOpError() << "'fft_length' has "
                         << counted(count, "entry", "entries")
                         << ", expected 1, 2 or 3";
  // fft_c2
  if (failed(checkFftElements(*this)))
    return failure();
  bool isFromReal = getFftType() == FftType::RFFT;
  bool isToReal = getFftType() == FftType::IRFFT;
  ArrayRef<int64_t> result = shapeOf(getResult());
  // fft_c5
  ArrayRef<int64_t> real = isToReal ? result : operand;
  SmallVector<int64_t> expected(real);
  int64_t last = real.empty() ? 0 : real.back();
  if (isFromReal || isToReal) {
    // A real signal of n elements has n / 2 + 1 frequencies.
    if (real.size() != operand.size())
      return checkShape(*this, "result", result, operand,
                        "the rank of 'operand'");
    if (last != 0 && !ShapedType::isDynamic(last))
      expected.back() = last / 2 + 1;
  }
  if (failed(checkShape(*this, isToReal ? "operand" : "result",
                        isToReal ? operand : result, expected,
                        isFromReal || isToReal
                            ? "the real side's with n / 2 + 1 for the last n"
                            : "that of 'operand'")))
    return failure();
  // fft_c4
  if (isFromReal || isToReal)
    return checkShape(*this, isToReal ? "result" : "operand", real,
                      llvm::to_vector(llvm::concat<const int64_t>(
                          real.drop_back(count), lengths)),
                      "which ends in 'fft_length'");
  return success();
}
