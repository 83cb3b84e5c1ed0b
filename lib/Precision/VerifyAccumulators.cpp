//===- VerifyAccumulators.cpp - Sums are held in f32 ----------------------===//
//
// Looks for operations whose sum lies in 16 bits between two additions. In the
// device program partial sums lie in memory between two kernels, so its
// instructions are followed in order, with what each place of a segment holds.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/Passes.h"

#include "HeldSums.h"

#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon::precision {
#define GEN_PASS_DEF_VERIFYACCUMULATORSPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

/// Whether a value was a number of 16 bits on the way from its source.
bool isRounded(Value value) {
  for (;;) {
    if (stablehlo::isFloatOf16Bits(getElementTypeOrSelf(value)))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || value == behindMovement(value))
      return false;
    value = op->getOperand(0);
  }
}

bool isNarrowSum(Operation *op) {
  return llvm::any_of(heldSums(op), isRounded);
}

/// Follows a device program.
class StoredSums {
public:
  explicit StoredSums(ModuleOp module) : module(module), symbols(module) {}

  /// A reduction in a kernel that adds up what an earlier kernel had added up
  /// and rounded; null if there is none.
  Operation *findNarrow() {
    for (auto program : module.getOps<exec::ProgramOp>()) {
      rounded.clear();
      if (Operation *found = follow(program.getBody()))
        return found;
    }
    return nullptr;
  }

private:
  /// A range of bytes of a segment.
  struct Place {
    StringRef segment;
    int64_t begin = 0, end = 0;

    bool overlaps(const Place &other) const {
      return segment == other.segment && begin < other.end && other.begin < end;
    }
  };

  static Place placeOf(Value slice) {
    auto op = slice.getDefiningOp<exec::SliceOp>();
    auto type = cast<MemRefType>(slice.getType());
    int64_t begin = int64_t(op.getOffset());
    return {op.getSegment(), begin,
            begin +
                type.getNumElements() *
                    std::max<int64_t>(1, type.getElementTypeBitWidth() / 8)};
  }

  bool holdsRounded(Value slice) const {
    return llvm::any_of(rounded, [place = placeOf(slice)](const Place &other) {
      return place.overlaps(other);
    });
  }
  /// What was there is gone, and what is left of it on either side stays.
  void write(Value slice, bool isRounded) {
    const Place place = placeOf(slice);
    SmallVector<Place> kept;
    for (const Place &other : rounded) {
      if (!place.overlaps(other)) {
        kept.push_back(other);
        continue;
      }
      if (other.begin < place.begin)
        kept.push_back({other.segment, other.begin, place.begin});
      if (place.end < other.end)
        kept.push_back({other.segment, place.end, other.end});
    }
    rounded = std::move(kept);
    if (isRounded)
      rounded.push_back(place);
  }

  Operation *follow(Region &region) {
    for (Operation &op : region.getOps()) {
      Operation *found = nullptr;
      if (auto invoke = dyn_cast<exec::InvokeOp>(op))
        found = run(invoke);
      else if (isa<exec::WhileOp>(op))
        found = followRounds(op);
      else if (isa<exec::CaseOp>(op))
        found = followBranches(op);
      if (found)
        return found;
    }
    return nullptr;
  }

  Operation *followRounds(Operation &loop) {
    // A round reads what the one before it wrote.
    for (int round = 0; round < 2; ++round)
      for (Region &region : loop.getRegions())
        if (Operation *found = follow(region))
          return found;
    return nullptr;
  }

  Operation *followBranches(Operation &branches) {
    const SmallVector<Place> before = rounded;
    SmallVector<Place> after;
    for (Region &branch : branches.getRegions()) {
      rounded = before;
      if (Operation *found = follow(branch))
        return found;
      llvm::append_range(after, rounded);
    }
    rounded = std::move(after);
    return nullptr;
  }

  Operation *run(exec::InvokeOp invoke) {
    Operation *callee = symbols.lookup(invoke.getCallee());
    if (auto kernel = dyn_cast_or_null<func::FuncOp>(callee);
        kernel && !kernel.isExternal())
      return runKernel(invoke, kernel);
    if (isa_and_nonnull<exec::CopyOp>(callee))
      write(invoke.getSlices()[1], holdsRounded(invoke.getSlices()[0]));
    // A library's call holds its own sums, as its description says, and what it
    // computes of others is none of them.
    else if (isa_and_nonnull<exec::LibraryOp>(callee))
      for (Value slice : invoke.getSlices())
        write(slice, false);
    // Ranks exchange shares that each has rounded once.
    else if (isa_and_nonnull<exec::CollectiveOp>(callee))
      for (Value slice :
           invoke.getSlices().drop_front(invoke.getSlices().size() > 1))
        write(slice, false);
    return nullptr;
  }

  Operation *runKernel(exec::InvokeOp invoke, func::FuncOp kernel) {
    OperandRange slices = invoke.getSlices();
    auto isRoundedArgument = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && argument.getOwner() == &kernel.front() &&
             holdsRounded(slices[argument.getArgNumber()]);
    };
    for (auto reduce : kernel.getOps<stablehlo::ReduceOp>())
      if (adds(reduce) && llvm::any_of(reduce.getInputs(), [&](Value input) {
            return isRoundedArgument(behindMovement(input));
          }))
        return reduce;
    auto inPlace =
        kernel->getAttrOfType<DenseI64ArrayAttr>(exec::inPlaceAttrName);
    unsigned next = kernel.getNumArguments();
    SmallVector<std::pair<Value, bool>> written;
    for (auto [index, result] :
         llvm::enumerate(kernel.front().getTerminator()->getOperands())) {
      Value from = behindMovement(result);
      auto sum = from.getDefiningOp<stablehlo::ReduceOp>();
      written.push_back(
          {slices[inPlace && inPlace[index] >= 0 ? unsigned(inPlace[index])
                                                 : next++],
           (sum && adds(sum) && isRounded(result)) || isRoundedArgument(from)});
    }
    for (auto [slice, isRounded] : written)
      write(slice, isRounded);
    return nullptr;
  }

  ModuleOp module;
  const SymbolTable symbols;
  SmallVector<Place> rounded; // partial sums that were rounded to 16 bits
};

struct VerifyAccumulators
    : public precision::impl::VerifyAccumulatorsPassBase<VerifyAccumulators> {
  void runOnOperation() override {
    if (Operation *op = narrowSum(getOperation())) {
      op->emitError() << "'" << op->getName()
                      << "' adds up in 16 bits, expected a sum in f32 or "
                         "wider that is rounded once";
      return signalPassFailure();
    }
    if (Operation *op = StoredSums(getOperation()).findNarrow()) {
      auto kernel = op->getParentOfType<func::FuncOp>();
      op->emitError() << "'" << op->getName() << "' of kernel '"
                      << kernel.getName()
                      << "' adds up partial sums that an earlier kernel stored "
                         "in 16 bits, expected them in f32 or wider";
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace

Operation *precision::narrowSum(Operation *root) {
  Operation *found = nullptr;
  root->walk([&](Operation *op) {
    if (!isNarrowSum(op))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}
