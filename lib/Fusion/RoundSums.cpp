//===- RoundSums.cpp - Products that rounds of a loop can make together ---===//
//
// See RoundSums.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/RoundSums.h"

#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using namespace tenon::stablehlo;

/// Whether sums of this type may be added up in another order: the terms are
/// not rounded to fewer digits than they are added with, unless the compiler
/// chose to, and then one product of several rounds is rounded less often.
static bool isOfSums(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return element.isF32() || element.isF64();
}

/// A dot of two values that differ from round to round, as import writes it.
static bool isProduct(Operation *op, Block &body) {
  auto dot = dyn_cast<DotGeneralOp>(op);
  return dot && !dot.getAlgorithm() && dot.getLhs().getParentBlock() == &body &&
         dot.getRhs().getParentBlock() == &body;
}

/// A sum of numbers of the round that starts at zero.
static bool isReduction(Operation *op, Block &body) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && addsUp(reduce) && isOfSums(reduce.getResult(0)) &&
         reduce.getInputs()[0].getParentBlock() == &body;
}

bool fusion::addsUp(ReduceOp reduce) {
  if (reduce.getInputs().size() != 1 ||
      !matchPattern(reduce.getInitValues()[0], m_AnyZeroFloat()))
    return false;
  Block &combine = reduce.getBody().front();
  auto sum = combine.getTerminator()->getOperand(0).getDefiningOp<AddOp>();
  return sum && llvm::hasSingleElement(combine.without_terminator()) &&
         llvm::equal(sum->getOperands(), combine.getArguments());
}

std::optional<RoundSum> RoundSum::of(const CountedLoop &loop, Operation *op) {
  Block &body = loop.body();
  if (op->getBlock() != &body ||
      (!isProduct(op, body) && !isReduction(op, body)))
    return std::nullopt;
  Operation *next = body.getTerminator();
  Block &condition = loop.loop().getCond().front();
  RoundSum sum{op, {}, {}};
  llvm::SetVector<Operation *> behind;
  SmallVector<Value> work = {op->getResult(0)};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (user->getBlock() != &body)
        return std::nullopt;
      if (isa<TransposeOp, SliceOp, ReshapeOp>(user) ||
          step::isCompilerCast(user)) {
        if (behind.insert(user))
          work.push_back(user->getResult(0));
        continue;
      }
      if (!isa<AddOp>(user) || !user->hasOneUse() || !isOfSums(value))
        return std::nullopt;
      auto carried =
          dyn_cast<BlockArgument>(user->getOperand(1 - use.getOperandNumber()));
      OpOperand &after = *user->getUses().begin();
      if (!carried || carried.getOwner() != &body || !carried.hasOneUse() ||
          after.getOwner() != next ||
          after.getOperandNumber() != carried.getArgNumber() ||
          !condition.getArgument(carried.getArgNumber()).use_empty())
        return std::nullopt;
      behind.insert(user);
      sum.positions.push_back(carried.getArgNumber());
    }
  }
  if (sum.positions.empty())
    return std::nullopt;
  sum.behind = behind.takeVector();
  llvm::sort(sum.behind, [](Operation *first, Operation *second) {
    return first->isBeforeInBlock(second);
  });
  return sum;
}

int64_t RoundSum::terms() const {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(product->getOperand(0).getType()).getShape();
  auto dot = dyn_cast<DotGeneralOp>(product);
  ArrayRef<int64_t> dims =
      dot ? dot.getDotDimensionNumbers().getLhsContractingDimensions()
          : cast<ReduceOp>(product).getDimensions();
  int64_t terms = 1;
  for (int64_t dim : dims)
    terms *= shape[dim];
  return terms;
}

SmallVector<Value> RoundSum::operands() const {
  if (auto reduce = dyn_cast<ReduceOp>(product))
    return llvm::to_vector(ValueRange(reduce.getInputs()));
  return llvm::to_vector(ValueRange(product->getOperands()));
}

/// How often an index contains the loop's counter, or nothing if it is not made
/// of that and of values that no round changes by sums and differences.
static std::optional<int64_t> counterFactor(const CountedLoop &loop,
                                            Value index) {
  if (index == loop.counter())
    return 1;
  if (index.getParentBlock() != &loop.body() ||
      matchPattern(index, m_Constant()))
    return 0;
  Operation *op = index.getDefiningOp();
  if (isa_and_nonnull<ConvertOp>(op))
    return counterFactor(loop, op->getOperand(0));
  if (!isa_and_nonnull<AddOp, SubtractOp>(op))
    return std::nullopt;
  auto left = counterFactor(loop, op->getOperand(0));
  auto right = counterFactor(loop, op->getOperand(1));
  if (!left || !right)
    return std::nullopt;
  return isa<AddOp>(op) ? *left + *right : *left - *right;
}

/// Whether a slice of extent 1 of the first dimension is replaced, which starts
/// at 0 in all others.
static bool writesOneOfFirst(DynamicUpdateSliceOp write) {
  ArrayRef<int64_t> to = cast<RankedTensorType>(write.getType()).getShape();
  ArrayRef<int64_t> part =
      cast<RankedTensorType>(write.getUpdate().getType()).getShape();
  return !to.empty() && part.front() == 1 &&
         to.drop_front() == part.drop_front() &&
         llvm::all_of(write.getStartIndices().drop_front(), [](Value start) {
           return matchPattern(start, m_Zero());
         });
}

std::optional<StackedProduct> StackedProduct::of(const CountedLoop &loop,
                                                 Operation *op) {
  Block &body = loop.body();
  auto dot = dyn_cast<DotGeneralOp>(op);
  if (!dot || op->getBlock() != &body || dot.getAlgorithm() ||
      !isa<FloatType>(getElementTypeOrSelf(dot.getType())) ||
      !dot->hasOneUse() ||
      !dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty() ||
      dot.getLhs().getParentBlock() != &body ||
      loop.loop()->isAncestor(dot.getRhs().getParentBlock()->getParentOp()))
    return std::nullopt;
  auto slice = dyn_cast<ReshapeOp>(*dot->getUsers().begin());
  auto write = slice && slice->hasOneUse()
                   ? dyn_cast<DynamicUpdateSliceOp>(*slice->getUsers().begin())
                   : nullptr;
  if (!write || write.getUpdate() != slice.getResult() || !write->hasOneUse() ||
      !writesOneOfFirst(write) ||
      cast<RankedTensorType>(slice.getType()).getShape().drop_front() !=
          cast<RankedTensorType>(dot.getType()).getShape())
    return std::nullopt;
  auto stack = dyn_cast<BlockArgument>(write.getOperand());
  OpOperand &next = *write->getUses().begin();
  if (!stack || stack.getOwner() != &body || !stack.hasOneUse() ||
      next.getOwner() != body.getTerminator() ||
      next.getOperandNumber() != stack.getArgNumber() ||
      !loop.loop()
           .getCond()
           .front()
           .getArgument(stack.getArgNumber())
           .use_empty())
    return std::nullopt;
  auto factor = counterFactor(loop, write.getStartIndices().front());
  if (factor != 1 && factor != -1)
    return std::nullopt;
  return StackedProduct{dot, slice, write, stack.getArgNumber(),
                        factor == 1 ? CountedLoop::Direction::upwards
                                    : CountedLoop::Direction::downwards};
}

int64_t fusion::roundsOfBlock(const CountedLoop &loop) {
  for (Operation &op : loop.body())
    if (auto rounds = op.getAttrOfType<IntegerAttr>(step::blockRoundsAttrName))
      return rounds.getInt();
  return 1;
}
