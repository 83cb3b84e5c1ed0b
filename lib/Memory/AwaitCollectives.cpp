//===- AwaitCollectives.cpp - Wait where bytes ask for it -----------------===//
//
// Places are given. Whatever runs behind a collective, a save or a load and
// touches none of the bytes that it writes, and writes none that it reads, runs
// beside it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "Exchanges.h"
#include "Views.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Memory/BufferClasses.h"

#include "mlir/IR/Matchers.h"

namespace tenon::memory {
#define GEN_PASS_DEF_AWAITCOLLECTIVESPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

bool memory::isExchange(Operation *op) {
  auto group = dyn_cast<step::GroupOp>(op);
  return group && group.getKind() == step::GroupKind::collective &&
         group.getNumOperands() > 0;
}

bool memory::isWorthQueue(Operation *op, int64_t switchNanoseconds) {
  auto time = op->getAttrOfType<IntegerAttr>(step::nanosecondsAttrName);
  return isExchange(op) && (!time || time.getInt() >= switchNanoseconds);
}

namespace {

struct Touched {
  step::Segment segment;
  int64_t begin, end; // bytes
  bool isWritten;

  bool meets(const Touched &other) const {
    return segment == other.segment && begin < other.end && other.begin < end &&
           (isWritten || other.isWritten);
  }
};

/// The bytes that operations in scheduled form touch.
class Touches {
public:
  explicit Touches(func::FuncOp main) : main(main) {}

  SmallVector<Touched> of(Operation *op) const {
    SmallVector<Touched> touched;
    op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      if (isView(inner) || matchPattern(inner, m_Constant()))
        return WalkResult::skip();
      for (Value operand : inner->getOperands())
        add(operand, /*isWritten=*/false, touched);
      for (Value result : inner->getResults())
        add(result, /*isWritten=*/true, touched);
      auto group = dyn_cast<step::GroupOp>(inner);
      if (!group)
        return WalkResult::advance();
      auto scratch =
          group->getAttrOfType<step::PlaceAttr>(step::scratchPlaceAttrName);
      auto bytes =
          group->getAttrOfType<IntegerAttr>(step::scratchBytesAttrName);
      if (scratch && bytes)
        add(scratch, bytes.getInt(), /*isWritten=*/true, touched);
      return WalkResult::skip();
    });
    return touched;
  }

private:
  static void add(step::PlaceAttr place, int64_t bytes, bool isWritten,
                  SmallVector<Touched> &touched) {
    touched.push_back({place.getSegment(), place.getOffset(),
                       place.getOffset() + bytes, isWritten});
  }

  void add(Value value, bool isWritten, SmallVector<Touched> &touched) const {
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *owner =
        argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    StringRef name = owner == main ? StringRef(step::argumentPlacesAttrName)
                                   : StringRef(step::placesAttrName);
    unsigned index = argument ? argument.getArgNumber()
                              : cast<OpResult>(value).getResultNumber();
    add(cast<step::PlaceAttr>(owner->getAttrOfType<ArrayAttr>(name)[index]),
        storedBytes(value.getType()), isWritten, touched);
  }

  func::FuncOp main;
};

struct AwaitCollectives
    : public memory::impl::AwaitCollectivesPassBase<AwaitCollectives> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp main = getOperation();
    if (!main->hasAttr(step::argumentPlacesAttrName))
      return;
    Touches touches(main);
    WalkResult walked =
        main.getBody().walk([&](step::GroupOp group) -> WalkResult {
          return isWorthQueue(group, switchNanoseconds) || group.isTransfer()
                     ? setBeside(group, touches)
                     : success();
        });
    if (walked.wasInterrupted())
      signalPassFailure();
  }

private:
  static int64_t besideOf(step::GroupOp group) {
    auto beside = group->getAttrOfType<IntegerAttr>(step::besideAttrName);
    return beside ? beside.getInt() : 0;
  }

  LogicalResult setBeside(step::GroupOp group, const Touches &touches) const {
    SmallVector<Touched> own = touches.of(group);
    auto meetsOwn = [&](const Touched &other) {
      return llvm::any_of(
          own, [&](const Touched &each) { return each.meets(other); });
    };
    int64_t count = 0, beside = 0, nanoseconds = 0;
    bool isTimed = group->hasAttr(step::nanosecondsAttrName);
    bool isTouched = false;
    for (Operation *next = group->getNextNode();
         !next->hasTrait<OpTrait::IsTerminator>(); next = next->getNextNode()) {
      if (llvm::any_of(touches.of(next), meetsOwn)) {
        isTouched = true;
        break;
      }
      ++count;
      if (isView(next) || matchPattern(next, m_Constant()))
        continue;
      beside = count;
      if (auto time =
              next->getAttrOfType<IntegerAttr>(step::nanosecondsAttrName);
          time && !isExchange(next))
        nanoseconds += time.getInt();
      else if (!time)
        isTimed = false;
    }
    if (isTouched && besideOf(group) > count)
      return group.emitOpError("runs beside ")
             << besideOf(group) << " operations, of which number " << count + 1
             << " touches its bytes";
    // A transfer has its queue anyway.
    if (!group.isTransfer() && isTimed && nanoseconds < switchNanoseconds)
      beside = 0;
    // For as long as was planned its bytes were kept: values that live less
    // long might share other places than they do.
    beside = std::max(beside, besideOf(group));
    if (beside > 0)
      group->setAttr(step::besideAttrName,
                     Builder(group.getContext()).getI64IntegerAttr(beside));
    return success();
  }
};

} // namespace
