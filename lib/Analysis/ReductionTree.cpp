//===- ReductionTree.cpp - In which order a reduction combines elements ---===//
//
// See ReductionTree.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/ReductionTree.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;
using namespace tenon;

ReductionSpace::ReductionSpace(stablehlo::ReduceOp reduce) {
  for (auto [dim, extent] :
       llvm::enumerate(shapeOf(reduce.getInputs().front()))) {
    if (extent == 1)
      continue;
    extents.push_back(extent);
    reduced.push_back(llvm::is_contained(reduce.getDimensions(), int64_t(dim)));
  }
}

static size_t trailingRun(ArrayRef<bool> reduced, bool value) {
  size_t run = 0;
  while (run < reduced.size() && reduced[reduced.size() - 1 - run] == value)
    ++run;
  return run;
}

static SmallVector<int64_t> pick(const ReductionSpace &space, bool reduced,
                                 size_t begin, size_t end) {
  SmallVector<int64_t> extents;
  for (size_t dim = begin; dim < end; ++dim)
    if (space.reduced[dim] == reduced)
      extents.push_back(space.extents[dim]);
  return extents;
}

SmallVector<int64_t> ReductionSpace::kept() const {
  return pick(*this, false, 0, extents.size());
}
SmallVector<int64_t> ReductionSpace::allReduced() const {
  return pick(*this, true, 0, extents.size());
}
SmallVector<int64_t> ReductionSpace::outerReduced() const {
  return pick(*this, true, 0, extents.size() - trailingRun(reduced, true));
}
SmallVector<int64_t> ReductionSpace::trailingReduced() const {
  return pick(*this, true, extents.size() - trailingRun(reduced, true),
              extents.size());
}
SmallVector<int64_t> ReductionSpace::outerKept() const {
  return pick(*this, false, 0, extents.size() - trailingRun(reduced, false));
}
SmallVector<int64_t> ReductionSpace::trailingKept() const {
  return pick(*this, false, extents.size() - trailingRun(reduced, false),
              extents.size());
}

bool tenon::reducesSomething(Operation *op) {
  auto reduce = dyn_cast<stablehlo::ReduceOp>(op);
  return reduce && !ReductionSpace(reduce).reducesNothing();
}

std::optional<ReductionBlocks> ReductionBlocks::of(ArrayRef<int64_t> reduced) {
  constexpr int64_t fewest = 16;
  int64_t elements = elementCount(reduced);
  if (elements < fewest)
    return std::nullopt;
  int64_t size = 1;
  while (size * size < elements)
    size *= 2;
  ReductionBlocks blocks;
  while (reduced.back() <= size) {
    size /= reduced.back();
    blocks.within.insert(blocks.within.begin(), reduced.back());
    reduced = reduced.drop_back();
  }
  blocks.extent = reduced.back();
  blocks.run = size;
  blocks.before.append(reduced.begin(), reduced.end() - 1);
  return blocks;
}

int64_t ReductionBlocks::runs() const { return llvm::divideCeil(extent, run); }

int64_t ReductionBlocks::count() const { return elementCount(before) * runs(); }

int64_t tenon::reductionAccumulators(int64_t elements) {
  return std::clamp<int64_t>((elements + reductionChunk - 1) / reductionChunk,
                             1, 4);
}

static bool isCommutative(Operation *op) {
  return isa<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::MaximumOp,
             stablehlo::MinimumOp, stablehlo::AndOp, stablehlo::OrOp,
             stablehlo::XorOp>(op);
}

Operation *tenon::commutativeOperation(Region &region) {
  Block &body = region.front();
  if (body.getNumArguments() != 2 || body.getOperations().size() != 2)
    return nullptr;
  Operation *op = &body.front();
  if (!isCommutative(op) ||
      body.getTerminator()->getOperand(0) != op->getResult(0))
    return nullptr;
  Value a = body.getArgument(0), b = body.getArgument(1);
  bool inOrder = op->getOperand(0) == a && op->getOperand(1) == b;
  bool swapped = op->getOperand(0) == b && op->getOperand(1) == a;
  return inOrder || swapped ? op : nullptr;
}
