//===- SameKernel.cpp - Kernels that compute the same ---------------------===//
//
// See SameKernel.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Exec/SameKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace tenon::exec {

static constexpr auto flags = OperationEquivalence::IgnoreLocations;

unsigned SameKernel::getHashValue(Operation *kernel) {
  llvm::hash_code hash =
      hash_value(Attribute(kernel->getDiscardableAttrDictionary()));
  kernel->walk([&](Operation *op) {
    if (op != kernel)
      hash = llvm::hash_combine(
          hash, OperationEquivalence::computeHash(
                    op, OperationEquivalence::ignoreHashValue,
                    OperationEquivalence::ignoreHashValue, flags));
  });
  return unsigned(hash);
}

bool SameKernel::isEqual(Operation *a, Operation *b) {
  if (a == b)
    return true;
  for (Operation *op : {a, b})
    if (op == getEmptyKey() || op == getTombstoneKey())
      return false;
  auto first = cast<func::FuncOp>(a), second = cast<func::FuncOp>(b);
  if (first.getFunctionType() != second.getFunctionType() ||
      a->getDiscardableAttrDictionary() != b->getDiscardableAttrDictionary())
    return false;
  llvm::DenseMap<Value, Value> same;
  auto areSame = [&](Value left, Value right) {
    return success(same.lookup(left) == right);
  };
  auto mark = [&](Value left, Value right) { same[left] = right; };
  return OperationEquivalence::isRegionEquivalentTo(
      &first.getBody(), &second.getBody(), areSame, mark, flags);
}

} // namespace tenon::exec
