//===- RowKernel.cpp - What kernels over rows share -----------------------===//
//
// See RowKernel.h.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

bool hasLongRows(const KernelSource &source) {
  return source.kernelClass == KernelClass::row &&
         areSimple(source.kernel.reductions()) && !areHeldByLanes(source) &&
         source.kernel.space()->outerReduced().empty();
}

RowKernel::RowKernel(const KernelSource &source, func::FuncOp function,
                     const LaunchShape &launch,
                     const GpuInstructions &instructions)
    : GpuKernelBuilder(source, function, launch, instructions),
      summing(SummingKernel::of(source.kernel)),
      kernel(summing ? summing->inner : source.kernel), plan(kernel.passes()),
      space(*kernel.space()) {
  passes = plan.reductions.size();
  for (Value result : kernel.results())
    if (kernel.isFull(result))
      passes = std::max(passes, kernel.level(result) + 1);
}

bool RowKernel::isFull(unsigned result) {
  return kernel.isFull(resultValue(result));
}

bool RowKernel::isOfRow(unsigned result) {
  return !isFull(result) && !(summing && summing->isSum(resultValue(result)));
}

Indices RowKernel::indicesIn(Value value, ArrayRef<IndexExpression> reduced) {
  return withUnitDimensions(shapeOf(value), mergeIndices(space, row, reduced));
}

SmallVector<Combiner> RowKernel::combinersOf(unsigned pass) {
  SmallVector<Combiner> combiners;
  if (pass < plan.reductions.size())
    for (stablehlo::ReduceOp reduce : plan.reductions[pass])
      combiners.emplace_back(reduce);
  return combiners;
}

void RowKernel::storeFull(ArrayRef<unsigned> written,
                          ArrayRef<IndexExpression> reduced) {
  SmallVector<Element> elements;
  for (unsigned i : written)
    elements.push_back(at(resultValue(i), reduced));
  for (auto [i, element] : llvm::zip(written, elements))
    storeResult(i, indicesIn(resultValue(i), reduced), element);
}

bool RowKernel::hasResultsOfRow() {
  return llvm::any_of(llvm::seq<unsigned>(results.size()),
                      [&](unsigned i) { return isOfRow(i); });
}

void RowKernel::storeOfRow() {
  for (unsigned i = 0; i < results.size(); ++i) {
    if (!isOfRow(i))
      continue;
    Indices indices = withUnitDimensions(results[i].shape, row);
    storeResult(i, indices, points.at(resultValue(i), indices));
  }
}

Value RowKernel::collapse(const Combiner &combiner, ArrayRef<Value> sums,
                          int64_t lanes, int64_t group, int64_t places) {
  Values elements;
  for (Value sum : sums)
    for (int64_t i = 0; i < lanes; ++i)
      elements.push_back(lanes == 1 ? sum
                                    : Value(create<vector::ExtractOp>(sum, i)));
  const int64_t ofVectors = group * lanes;
  // Sums of places that others have taken in are not used any more.
  auto joinWith = [&](int64_t distance) {
    Values joined;
    for (auto [i, element] : llvm::enumerate(elements)) {
      Value other;
      if (distance >= lanes && distance < ofVectors)
        other = fromLane(element, distance / lanes, group);
      else if (size_t place = i + std::min(distance, lanes);
               place < elements.size())
        other = elements[place];
      joined.push_back(other ? combiner.join(*this, element, other) : element);
    }
    elements = joined;
  };
  auto keep = [&](int64_t count) {
    if (int64_t(elements.size()) > count)
      elements.resize(count);
  };
  // ((a0 a1) (a2 a3)), or ((a0 a1) a2): where there is no a3, lanes hold a
  // number that changes nothing.
  for (int64_t distance = reductionChunk; distance < places; distance *= 2)
    joinWith(distance);
  keep(lanes);
  for (int64_t distance = reductionChunk / 2; distance > 0; distance /= 2) {
    joinWith(distance);
    keep(distance);
  }
  return fromLane(elements.front(), 0, group);
}

Value RowKernel::joinOfVector(const Combiner &combiner, Value vector) {
  if (algebra.lanes == 1)
    return vector;
  Value all = create<vector::ExtractOp>(vector, 0);
  for (int64_t i = 1; i < algebra.lanes; ++i)
    all = combiner.join(*this, all, create<vector::ExtractOp>(vector, i));
  return all;
}

Value RowKernel::joinOfWarp(const Combiner &combiner, Value value,
                            int64_t lanes) {
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
    value =
        combiner.join(*this, value, fromLane(value, distance, threadsOfWarp));
  return fromLane(value, 0, threadsOfWarp);
}

} // namespace tenon::codegen
