//===- KernelDescription.cpp - What a kernel runs over and computes -------===//
//
// See KernelDescription.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/KernelDescription.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/GradientSums.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Analysis/Windows.h"
#include "tenon/Dialect/Step/Attention.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <bit>

using namespace mlir;
using namespace tenon;

static SmallVector<Operation *> operationsOf(Block &body) {
  SmallVector<Operation *> operations;
  for (Operation &op : body.without_terminator())
    operations.push_back(&op);
  return operations;
}

KernelDescription::KernelDescription(Block &body)
    : KernelDescription(
          operationsOf(body),
          SmallVector<Value>(body.getTerminator()->getOperands())) {}

KernelDescription::KernelDescription(ArrayRef<Operation *> operations,
                                     ArrayRef<Value> results)
    : computed(operations), written(results) {
  for (Operation *op : operations)
    if (reducesSomething(op))
      reduced.push_back(cast<stablehlo::ReduceOp>(op));
  if (reduced.empty())
    return;
  common.emplace(reduced.front());
  if (llvm::any_of(ArrayRef(reduced).drop_front(),
                   [&](stablehlo::ReduceOp reduce) {
                     return ReductionSpace(reduce) != *common;
                   }))
    common.reset();
  for (Operation *op : operations) {
    unsigned deepest = 0;
    for (Value operand : op->getOperands())
      deepest = std::max(deepest, level(operand));
    levels[op] = deepest + reduces(op);
  }
}

bool KernelDescription::reduces(Operation *op) const {
  return llvm::any_of(reduced, [&](stablehlo::ReduceOp reduce) {
    return reduce.getOperation() == op;
  });
}

unsigned KernelDescription::level(Value value) const {
  return levels.lookup(value.getDefiningOp());
}

static bool isSameWithoutUnits(Value value, ArrayRef<int64_t> extents) {
  for (int64_t extent : shapeOf(value)) {
    if (extent == 1)
      continue;
    if (extents.empty() || extents.front() != extent)
      return false;
    extents = extents.drop_front();
  }
  return extents.empty();
}

bool KernelDescription::isFull(Value value) const {
  return isSameWithoutUnits(value, common->extents);
}

bool KernelDescription::isKept(Value value) const {
  return isSameWithoutUnits(value, common->kept());
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// What replaces a part of its first operand and leaves the rest.
static bool isUpdate(Operation *op) {
  return isa_and_nonnull<stablehlo::DynamicUpdateSliceOp, stablehlo::ScatterOp>(
      op);
}

/// What reads a part of its first operand.
static bool isPick(Operation *op) {
  return isa<stablehlo::SliceOp, stablehlo::DynamicSliceOp,
             stablehlo::GatherOp>(op);
}

/// Bytes that it reads there: of a slice that others only pick from, what they
/// pick.
static int64_t pickedBytes(Operation *pick,
                           const llvm::SmallDenseSet<Operation *, 32> &inside) {
  Value part = pick->getResult(0);
  const int64_t whole = storedBytes(part.getType());
  int64_t bytes = 0;
  for (OpOperand &use : part.getUses()) {
    if (!inside.contains(use.getOwner()) || use.getOperandNumber() != 0 ||
        !isPick(use.getOwner()))
      return whole;
    bytes += pickedBytes(use.getOwner(), inside);
  }
  return bytes ? std::min(bytes, whole) : whole;
}

/// Whether an operation only picks elements of the operand or replaces some,
/// in place where it is a result.
static bool touchesPart(OpOperand &operand, ArrayRef<Value> results) {
  Operation *op = operand.getOwner();
  return operand.getOperandNumber() == 0 &&
         (isPick(op) ||
          (isUpdate(op) && llvm::is_contained(results, op->getResult(0))));
}

SmallVector<KernelRead> KernelDescription::reads() const {
  llvm::SmallDenseSet<Operation *, 32> inside(computed.begin(), computed.end());
  llvm::SmallMapVector<Value, KernelRead, 16> reads;
  for (Operation *op : computed)
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (inside.contains(value.getDefiningOp()))
        continue;
      KernelRead &read = reads[value];
      read.value = value;
      if (!touchesPart(operand, written))
        read.isWhole = true;
      else if (isPick(op))
        read.pickedBytes += pickedBytes(op, inside);
      else
        read.update = op;
    }
  return llvm::map_to_vector(reads, [](auto &entry) { return entry.second; });
}

int64_t KernelDescription::touchedElements(
    std::optional<ArrayRef<int64_t>> inPlace) const {
  auto isInPlace = [&](size_t result) {
    Operation *op = written[result].getDefiningOp();
    if (!isUpdate(op))
      return false;
    if (!inPlace)
      return !llvm::is_contained(computed, op->getOperand(0).getDefiningOp());
    auto argument = dyn_cast<BlockArgument>(op->getOperand(0));
    return argument && (*inPlace)[result] == int64_t(argument.getArgNumber());
  };
  int64_t elements = 1;
  auto touch = [&](Value value) {
    elements = std::max(elements, elementCount(shapeOf(value)));
  };
  // An update that is not in place touches its operand as its result.
  for (size_t result = 0; result < written.size(); ++result)
    if (!isInPlace(result))
      touch(written[result]);
  llvm::SmallDenseSet<Operation *, 32> inside(computed.begin(), computed.end());
  for (Operation *op : computed)
    for (OpOperand &operand : op->getOpOperands())
      if (!inside.contains(operand.get().getDefiningOp()) &&
          !touchesPart(operand, written))
        touch(operand.get());
  return elements;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Whether an operand could make room for the result, were nothing kept there
/// from `pass` on.
static bool keepsOperand(const KernelDescription &kernel, const RowPasses &plan,
                         Value result, unsigned pass) {
  return llvm::any_of(plan.lastRead, [&](auto &read) {
    auto [operand, last] = read;
    return kernel.isFull(operand) &&
           storedBytes(operand.getType()) == storedBytes(result.getType()) &&
           last > pass && last <= kernel.level(result);
  });
}

/// Keeps values in results that are written when they were needed for the last
/// time, as long as there are any. A row that is kept apart stays in the cache,
/// so it is better than a result of its own beside an operand that is read once
/// more: of a loss with smoothed labels, the exponentials are kept apart while
/// the logits are summed up, and the gradient overwrites the logits.
static void placeKept(const KernelDescription &kernel,
                      ArrayRef<unsigned> lastPass, RowPasses &plan) {
  SmallVector<bool> taken(kernel.results().size(), false);
  for (auto [value, last] : llvm::zip_equal(plan.kept, lastPass))
    for (auto [i, result] : llvm::enumerate(kernel.results()))
      if (value.result < 0 && kernel.isFull(result) && !taken[i] &&
          elementOf(result) == elementOf(value.value) &&
          kernel.level(result) >= last &&
          !keepsOperand(kernel, plan, result, value.pass)) {
        value.result = i;
        taken[i] = true;
      }
}

RowPasses KernelDescription::passes() const {
  RowPasses plan;
  for (stablehlo::ReduceOp reduce : reduced) {
    unsigned own = level(reduce.getResult(0));
    if (own > plan.reductions.size())
      plan.reductions.resize(own);
    plan.reductions[own - 1].push_back(reduce);
  }
  auto pass = [](unsigned number) {
    return uint32_t(1) << std::min(number, 31u);
  };
  // A bit per pass that needs the value.
  llvm::SmallDenseMap<Operation *, uint32_t, 32> needed;
  for (Value result : written)
    needed[result.getDefiningOp()] |= pass(level(result));
  SmallVector<unsigned> lastPass;
  for (Operation *op : llvm::reverse(computed)) {
    uint32_t passes = needed.lookup(op);
    if (reduces(op)) {
      passes = pass(level(op->getResult(0)) - 1);
    } else if (std::popcount(passes) > 1) {
      bool full = isFull(op->getResult(0)), expensive = isExpensive(op);
      if (full && expensive) {
        plan.kept.push_back(
            {op->getResult(0), unsigned(std::countr_zero(passes))});
        lastPass.push_back(std::bit_width(passes) - 1);
      }
      if (!full || expensive)
        passes &= -passes; // the first of them
      else
        plan.times[op] = std::popcount(passes);
    }
    for (Value operand : op->getOperands()) {
      auto known = levels.find(operand.getDefiningOp());
      if (known != levels.end())
        needed[known->first] |= passes;
      else if (passes)
        plan.lastRead[operand] = std::max<unsigned>(
            plan.lastRead.lookup(operand), std::bit_width(passes) - 1);
    }
  }
  std::reverse(plan.kept.begin(), plan.kept.end());
  std::reverse(lastPass.begin(), lastPass.end());
  placeKept(*this, lastPass, plan);
  return plan;
}

bool KernelDescription::mayReplace(Value read, unsigned result) const {
  if (kernelClass() != KernelClass::row || !isFull(written[result]))
    return false;
  RowPasses plan = passes();
  unsigned firstWrite = level(written[result]);
  for (const KeptValue &kept : plan.kept)
    if (kept.result == int(result))
      firstWrite = std::min(firstWrite, kept.pass);
  return plan.lastRead.lookup(read) <= firstWrite;
}

//===----------------------------------------------------------------------===//
// Class
//===----------------------------------------------------------------------===//

/// What computes a result. Results of attention's gradient may be joined behind
/// it: its kernel stores each of them where it is in the whole, and may add up
/// rows of it.
static Operation *makerOf(Value result) {
  if (auto gradient = summedGradients(result))
    return gradient;
  if (auto gradient = gradientsOf(result))
    return gradient;
  return result.getDefiningOp();
}

Operation *KernelDescription::root() const {
  Operation *root = written.empty() ? nullptr : makerOf(written.front());
  llvm::SmallDenseSet<Value> seen;
  for (Value result : written)
    if (!root || makerOf(result) != root || !seen.insert(result).second)
      return nullptr;
  for (Operation *op : computed)
    if (op != root && !isPointOperation(op) &&
        !(reduces(op) && seen.contains(op->getResult(0))))
      return nullptr;
  return root;
}

stablehlo::DynamicUpdateSliceOp
KernelDescription::joinedUpdate(size_t result) const {
  auto update =
      written[result].getDefiningOp<stablehlo::DynamicUpdateSliceOp>();
  if (!update || written.size() < 2 ||
      llvm::is_contained(computed, update.getOperand().getDefiningOp()))
    return nullptr;
  return update;
}

Value KernelDescription::computedFor(size_t result) const {
  stablehlo::DynamicUpdateSliceOp update = joinedUpdate(result);
  return update ? update.getUpdate() : written[result];
}

ArrayRef<int64_t> KernelDescription::points() const {
  for (size_t result = 0; result < written.size(); ++result)
    if (!joinedUpdate(result))
      return shapeOf(written[result]);
  return shapeOf(computedFor(0));
}

bool KernelDescription::havePoints() const {
  auto hasPoints = [&](size_t result) {
    ArrayRef<int64_t> shape = shapeOf(computedFor(result));
    return joinedUpdate(result) ? withoutUnits(shape) == withoutUnits(points())
                                : shape == points();
  };
  return !written.empty() && llvm::all_of(llvm::seq(written.size()), hasPoints);
}

KernelClass KernelDescription::kernelClass() const {
  auto isOther = [&](Operation *op) {
    return !isPointOperation(op) && !reduces(op);
  };
  if (llvm::any_of(computed, isOther))
    return root() ? KernelClass::root : KernelClass::none;
  if (reduced.empty())
    return havePoints() ? KernelClass::elementwise : KernelClass::none;
  if (!common)
    return KernelClass::none;
  bool isRow = common->reducesLast();
  // What follows a column's sum is computed once, when all rows are in.
  bool isOneLevel = llvm::all_of(reduced, [&](stablehlo::ReduceOp reduce) {
    return level(reduce.getResult(0)) == 1;
  });
  if (!isRow && !isOneLevel)
    return KernelClass::none;
  for (Value result : written)
    if (!isKept(result) && !(isRow && isFull(result)))
      return KernelClass::none;
  return isRow ? KernelClass::row : KernelClass::column;
}

/// Sums of columns that one core keeps in registers, and columns of a unit.
constexpr int64_t mostAccumulators = 256;
constexpr int64_t mostColumns = 128, fewestColumns = 16;

int64_t KernelDescription::columnsPerUnit() const {
  int64_t accumulators = 0;
  for (stablehlo::ReduceOp reduce : reduced)
    accumulators += reduce.getNumResults();
  int64_t columns = mostColumns;
  while (columns > fewestColumns && columns * accumulators > mostAccumulators)
    columns /= 2;
  return columns;
}

int64_t KernelDescription::units() const {
  if (common->reducesLast())
    return elementCount(common->kept());
  int64_t columns = elementCount(common->trailingKept());
  int64_t length = columnsPerUnit();
  return elementCount(common->outerKept()) * ((columns + length - 1) / length);
}

//===----------------------------------------------------------------------===//
// Fallback
//===----------------------------------------------------------------------===//

/// Small windows stay in registers, if they leave the last dimension to lanes.
static bool areFast(ArrayRef<Window> windows) {
  return !windows.empty() && windows.back().isTrivial() &&
         elementCount(sizesOf(windows)) <= mostWindowPlaces;
}

bool KernelDescription::isFallback() const {
  const KernelClass form = kernelClass();
  // Regions that are no single operation take one element after the other.
  if (form == KernelClass::row)
    return llvm::any_of(reduced, [](stablehlo::ReduceOp reduce) {
      return !commutativeOperation(reduce.getBody());
    });
  Operation *op = root();
  if (auto window = dyn_cast_or_null<stablehlo::ReduceWindowOp>(op))
    return !areFast(windowsOf(window));
  if (auto window = dyn_cast_or_null<stablehlo::SelectAndScatterOp>(op))
    return !areFast(windowsOf(window));
  if (step::isAttention(op))
    return false;
  // In place, rows of one element are copied one by one.
  if (auto update = dyn_cast_or_null<stablehlo::DynamicUpdateSliceOp>(op)) {
    ArrayRef<int64_t> shape = shapeOf(update.getUpdate());
    return isa<BlockArgument>(update.getOperand()) && !shape.empty() &&
           shape.back() == 1 && elementCount(shape) > 1;
  }
  return form == KernelClass::root || form == KernelClass::none;
}
