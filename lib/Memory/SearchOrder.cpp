//===- SearchOrder.cpp - An order with fewer bytes live at once ----------===//
//
// The order of OrderOperations is quick to find and mostly the best one there
// is; here the ordering solver says so, or finds a better one. Its problem
// leaves out a little (OrderingModel.h), so that the buffers are placed in both
// orders before one is chosen.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "InnerBytes.h"
#include "OrderingModel.h"
#include "PackingProblem.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Remarks.h"

namespace tenon::memory {
#define GEN_PASS_DEF_SEARCHORDERPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// What an order of a block needs.
struct OrderFigures {
  int64_t live = 0;  // bytes at once in the block
  int64_t arena = 0; // of the whole function
  bool isBetterThan(const OrderFigures &other, int64_t leastGain) const {
    return live < other.live - other.live / 100 * leastGain &&
           arena <= other.arena;
  }
};

/// Counted in operations, edges and states looked at, so that a step takes a
/// few percent longer to compile. A hundred times as many find nothing better
/// than 64 bytes in any of 20 steps.
solver::OrderingOptions effort() {
  solver::OrderingOptions options;
  options.windows = 20;
  options.boundWork = 300'000;
  options.searchLooks = 100'000;
  return options;
}

struct SearchOrder : public memory::impl::SearchOrderPassBase<SearchOrder> {
  using SearchOrderPassBase::SearchOrderPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration())
      return;
    SmallVector<Block *> blocks; // inner ones first
    function.walk([&](Operation *op) {
      if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
        blocks.push_back(&loop.getBody().front());
      else if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op))
        for (Region &region : op->getRegions())
          blocks.push_back(&region.front());
    });
    blocks.push_back(&function.getBody().front());
    std::optional<BufferClasses> buffers;
    for (Block *block : blocks) {
      if (!buffers)
        buffers.emplace(function);
      if (search(*block, *buffers))
        buffers.reset();
    }
  }

private:
  bool search(Block &block, const BufferClasses &buffers);
  OrderFigures figuresOf(Block &block, const BufferClasses &buffers);
  void writeProblem(const solver::OrderingProblem &problem);
};

/// Whether the block has another order now.
bool SearchOrder::search(Block &block, const BufferClasses &buffers) {
  OrderingModel model(block, buffers);
  const bool isMain = isa<func::FuncOp>(block.getParentOp());
  if (isMain && !problemFile.empty())
    writeProblem(model.problem());
  solver::OrderingSolution solution =
      solver::solveOrdering(model.problem(), effort());
  assert(solution.valid && "the block is no ordering problem");
  bool isBetter = solution.peak < solution.givenPeak;
  if (isBetter) {
    OrderFigures given = figuresOf(block, buffers);
    model.apply(solver::nearGivenOrder(model.problem(), solution.order));
    OrderFigures found = figuresOf(block, BufferClasses(getOperation()));
    isBetter = found.isBetterThan(given, leastGain);
    if (!isBetter)
      model.restore();
  }
  remark::analysis(
      block.getParentOp()->getLoc(),
      remark::RemarkOpts::name("Order").category("memory-search-order"))
      << remark::metric("Operations", model.problem().operations.size())
      << remark::metric("GivenPeakBytes", solution.givenPeak)
      << remark::metric("PeakBytes",
                        isBetter ? solution.peak : solution.givenPeak)
      << remark::metric("FoundPeakBytes", solution.peak)
      << remark::metric("BoundBytes",
                        std::max(solution.bound, solution.searchedBound));
  return isBetter;
}

OrderFigures SearchOrder::figuresOf(Block &block,
                                    const BufferClasses &buffers) {
  PackingProblem packing(buffers);
  solver::OffsetPackingSolution solution =
      solver::solveOffsetPacking(packing.problem, quickPacking(packing));
  OrderFigures figures;
  figures.arena = solution.arena;
  Operation *parent = block.getParentOp();
  if (isa<func::FuncOp>(parent)) {
    figures.live = solution.certificate.bound;
    return figures;
  }
  llvm::DenseSet<BufferClasses::Id> outside;
  for (; !isa<func::FuncOp>(parent); parent = parent->getParentOp())
    addClasses(*parent->getBlock(), buffers, outside);
  figures.live = innerBytes(block.getParentOp(), buffers, outside);
  return figures;
}

void SearchOrder::writeProblem(const solver::OrderingProblem &problem) {
  std::error_code error;
  llvm::raw_fd_ostream file(problemFile, error);
  if (error)
    getOperation().emitWarning()
        << "cannot write '" << problemFile << "': " << error.message();
  else
    file << solver::printOrderingProblem(problem);
}

} // namespace
