//===- GpuAttention.cpp - What kernels of attention on GPUs share ---------===//
//
// See GpuAttention.h.
//
//===----------------------------------------------------------------------===//

#include "GpuAttention.h"

#include "tenon/Codegen/Loops/MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tenon::codegen {

bool hasFeaturesLast(ArrayRef<int64_t> dims) {
  return dims.back() == step::queryFeatures ||
         dims.back() == step::valueFeatures;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value GpuAttentionKernel::number(double value) {
  return numberOfType(builder, loc, builder.getF32Type(), value);
}

Value GpuAttentionKernel::add(Value a, Value b) {
  return create<arith::AddFOp>(a, b);
}

Value GpuAttentionKernel::multiply(Value a, Value b) {
  return create<arith::MulFOp>(a, b);
}

Value GpuAttentionKernel::negative(Value value) {
  return create<arith::NegFOp>(value);
}

Value GpuAttentionKernel::larger(Value a, Value b) {
  Value isLarger = create<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
  return create<arith::SelectOp>(isLarger, a, b);
}

Value GpuAttentionKernel::exponential(Value a, Value b) {
  Value difference = create<arith::SubFOp>(a, b);
  return emitMath(builder, loc, MathFunction::exp, {difference}, instructions);
}

Value GpuAttentionKernel::rounded(Value value, bool isRounded, Value like) {
  if (!isRounded)
    return value;
  return convertFloat(builder, loc,
                      convertFloat(builder, loc, value, elementOf(like)),
                      builder.getF32Type());
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Indices GpuAttentionKernel::indices(ArrayRef<int64_t> dims,
                                    const IndexExpression &query,
                                    const IndexExpression &key,
                                    const IndexExpression &feature) {
  Indices all;
  for (int64_t dimension : dims)
    all.push_back(dimension >= 0                      ? batch[dimension]
                  : dimension == step::queryPositions ? query
                  : dimension == step::keyPositions   ? key
                                                      : feature);
  return all;
}

Value GpuAttentionKernel::besides(Value tensor, ArrayRef<int64_t> dims,
                                  const IndexExpression &query,
                                  const IndexExpression &key) {
  Value value =
      points.at(tensor, indices(dims, someQuery(query), someKey(key), 0)).value;
  if (!isa<FloatType>(elementOf(tensor)))
    return value;
  return convertFloat(builder, loc, value, builder.getF32Type());
}

Value GpuAttentionKernel::scoreAt(Value product, const IndexExpression &query,
                                  const IndexExpression &key) {
  Value score = product;
  if (problem.scale != 1)
    score = multiply(score, number(problem.scale));
  if (problem.bias)
    score = add(score, besides(problem.bias, problem.biasDims, query, key));
  if (problem.mask)
    score = create<arith::SelectOp>(
        besides(problem.mask, problem.maskDims, query, key), score,
        number(*problem.fill));
  return score;
}

Value GpuAttentionKernel::whereTaken(Value value, const IndexExpression &query,
                                     const IndexExpression &key,
                                     double otherwise) {
  if (problem.causal) {
    // Of all elements of a lane the distance is one number and a constant.
    IndexExpression distance = key - query;
    const int64_t constant = std::exchange(distance.constant, 0);
    Type i32 = builder.getI32Type();
    Value isTaken = create<arith::CmpIOp>(
        arith::CmpIPredicate::sle,
        create<arith::IndexCastOp>(i32, algebra.scalar(distance)).getResult(),
        numberOfType(builder, loc, i32, double(-constant)));
    value = create<arith::SelectOp>(isTaken, value, number(otherwise));
  }
  return whereBelow(value, key, problem.keys, otherwise);
}

Value GpuAttentionKernel::whereBelow(Value value, const IndexExpression &index,
                                     int64_t extent, Value otherwise) {
  if (algebra.range(index).high < extent)
    return value;
  Value isThere = create<arith::CmpIOp>(
      arith::CmpIPredicate::ult, algebra.scalar(index), constantIndex(extent));
  return create<arith::SelectOp>(isThere, value, otherwise);
}

Value GpuAttentionKernel::statisticOf(Value tensor,
                                      const IndexExpression &query) {
  Indices at = batch;
  at.push_back(someQuery(query));
  return convertFloat(builder, loc, points.at(tensor, at).value,
                      builder.getF32Type());
}

Value GpuAttentionKernel::addressInScratch(const IndexExpression &query,
                                           int64_t numbers, int64_t number) {
  SmallVector<int64_t> shape = problem.batch;
  shape.push_back(problem.queries);
  Indices at = batch;
  at.push_back(someQuery(query));
  Type i64 = builder.getI64Type();
  Value begin = create<memref::ExtractAlignedPointerAsIndexOp>(
      function.getArguments().back());
  Value offset =
      algebra.scalar((algebra.linearize(at, shape) * numbers + number) * 4);
  Value place = create<arith::AddIOp>(begin, offset);
  return create<LLVM::IntToPtrOp>(
      LLVM::LLVMPointerType::get(builder.getContext(),
                                 unsigned(NVVM::NVVMMemorySpace::Global)),
      create<arith::IndexCastOp>(i64, place).getResult());
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

void GpuAttentionKernel::setBatch(const Indices &own, const Indices &shared) {
  batch.clear();
  size_t nextOwn = 0, nextShared = 0;
  for (size_t number = 0; number < problem.batch.size(); ++number)
    if (!problem.isShared(int64_t(number)))
      batch.push_back(own[nextOwn++]);
    else
      batch.push_back(shared.empty() ? IndexExpression(0)
                                     : shared[nextShared++]);
}

SmallVector<int64_t> GpuAttentionKernel::batchExtents(bool areShared) const {
  SmallVector<int64_t> extents;
  for (auto [number, extent] : llvm::enumerate(problem.batch))
    if (problem.isShared(int64_t(number)) == areShared)
      extents.push_back(extent);
  return extents;
}

} // namespace tenon::codegen
