//===- SummingKernel.cpp - Sums over rows beside what a kernel has of them ===//
//
// See SummingKernel.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/SummingKernel.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;
using namespace tenon;

/// Whether leading dimensions alone are reduced, and some are kept.
static bool reducesLeading(const ReductionSpace &space) {
  return !space.reduced.empty() && space.reduced.front() &&
         !space.reduced.back() && llvm::is_sorted(llvm::reverse(space.reduced));
}

/// Whether dimensions at the end of the same space are reduced, and none of
/// those in `sums`.
static bool reducesBehind(const ReductionSpace &rows,
                          const ReductionSpace &sums) {
  return rows.extents == sums.extents && rows.reducesLast() &&
         llvm::is_sorted(rows.reduced) &&
         llvm::none_of(llvm::zip(rows.reduced, sums.reduced), [](auto both) {
           return std::get<0>(both) && std::get<1>(both);
         });
}

std::optional<SummingKernel>
SummingKernel::of(const KernelDescription &kernel) {
  SmallVector<stablehlo::ReduceOp, 2> sums, others;
  for (stablehlo::ReduceOp reduce : kernel.reductions())
    (reducesLeading(ReductionSpace(reduce)) ? sums : others).push_back(reduce);
  if (sums.empty())
    return std::nullopt;
  const ReductionSpace space(sums.front());
  llvm::SmallDenseSet<Operation *, 32> inside(kernel.operations().begin(),
                                              kernel.operations().end());
  for (stablehlo::ReduceOp sum : sums)
    if (sum.getNumResults() != 1 || ReductionSpace(sum) != space ||
        !commutativeOperation(sum.getBody()) ||
        !llvm::is_contained(kernel.results(), sum.getResult(0)) ||
        llvm::any_of(sum->getUsers(),
                     [&](Operation *user) { return inside.contains(user); }))
      return std::nullopt;
  for (stablehlo::ReduceOp reduce : others)
    if (!reducesBehind(ReductionSpace(reduce), space))
      return std::nullopt;

  SmallVector<Operation *> operations;
  for (Operation *op : kernel.operations())
    if (!llvm::is_contained(sums, op))
      operations.push_back(op);
  SmallVector<Value> results;
  for (Value result : kernel.results())
    if (!llvm::is_contained(sums, result.getDefiningOp()))
      results.push_back(result);
  // Sums of elements alone are a kernel of columns.
  if (others.empty() && results.empty())
    return std::nullopt;
  for (stablehlo::ReduceOp sum : sums)
    if (Value summed = sum.getInputs().front();
        inside.contains(summed.getDefiningOp()) &&
        !llvm::is_contained(results, summed))
      results.push_back(summed);
  SummingKernel summing{KernelDescription(operations, results),
                        std::move(sums)};
  switch (summing.inner.kernelClass()) {
  case KernelClass::row:
    return summing;
  case KernelClass::elementwise:
    if (withoutUnits(summing.inner.points()) == ArrayRef(space.extents))
      return summing;
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

bool SummingKernel::isSum(Value result) const {
  return llvm::any_of(sums, [&](stablehlo::ReduceOp sum) {
    return sum.getResult(0) == result;
  });
}

bool SummingKernel::mayReplace(Value read, Value result) const {
  if (isSum(result))
    return false;
  return !isInRows() ||
         inner.mayReplace(read, unsigned(llvm::find(inner.results(), result) -
                                         inner.results().begin()));
}
