//===- VerifyScheduledForm.cpp - The contract of a planned step -----------===//
//
// Checks that a module is in scheduled form (docs/Forms.md): every value has a
// place, and the place lies inside its segment. Lowering relies on it, and the
// text may have been edited, so it runs before every lowering. What kind of
// attribute stands where is for the dialect's verifier.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Dialect/Step/Succession.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace tenon::memory {
#define GEN_PASS_DEF_VERIFYSCHEDULEDFORMPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;

namespace {

class VerifyScheduledForm
    : public memory::impl::VerifyScheduledFormPassBase<VerifyScheduledForm> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isDeclaration() ||
        !main->hasAttr(step::argumentPlacesAttrName)) {
      module.emitError() << "expected a function @main in scheduled form; run "
                            "the stage plan first";
      return signalPassFailure();
    }
    if (failed(step::verifySuccession(main)) || failed(readSegments(main)) ||
        failed(checkPlaces(main, step::argumentPlacesAttrName,
                           main.getArgumentTypes())) ||
        failed(checkPlaces(main, step::resultPlacesAttrName,
                           main.getResultTypes())))
      return signalPassFailure();
    WalkResult walk = main.getBody().walk<WalkOrder::PreOrder>(
        [&](Operation *op) -> WalkResult {
          if (op->getNumResults() &&
              failed(
                  checkPlaces(op, step::placesAttrName, op->getResultTypes())))
            return WalkResult::interrupt();
          auto group = dyn_cast<step::GroupOp>(op);
          if (!group)
            return WalkResult::advance();
          return failed(checkGroup(group)) ? WalkResult::interrupt()
                                           : WalkResult::skip();
        });
    if (walk.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult readSegments(func::FuncOp main) {
    auto bytes =
        main->getAttrOfType<DictionaryAttr>(step::segmentBytesAttrName);
    if (!bytes)
      return main.emitError()
             << "a scheduled function needs the attribute '"
             << step::segmentBytesAttrName << "'; run the stage plan first";
    segments.clear();
    for (NamedAttribute entry : bytes)
      segments[*step::symbolizeSegment(entry.getName())] =
          cast<IntegerAttr>(entry.getValue()).getInt();
    return success();
  }

  /// The attribute `name` holds a place for each value of these types.
  LogicalResult checkPlaces(Operation *op, StringRef name, TypeRange types) {
    auto places = op->getAttrOfType<ArrayAttr>(name);
    if (!places || places.size() != types.size())
      return op->emitOpError("needs the attribute '")
             << name << "' with " << types.size()
             << (types.size() == 1 ? " place" : " places");
    for (auto [place, type] : llvm::zip_equal(places, types))
      if (failed(checkPlace(op, name, place, tenon::storedBytes(type))))
        return failure();
    return success();
  }

  LogicalResult checkPlace(Operation *op, StringRef name, Attribute attribute,
                           int64_t bytes) {
    auto place = dyn_cast_or_null<step::PlaceAttr>(attribute);
    if (!place)
      return op->emitOpError("needs the attribute '")
             << name << "', a #step.place";
    const bool isWaiting =
        isOfKind(op, step::GroupKind::save) && name == step::placesAttrName;
    if (isWaiting != (place.getSegment() == step::Segment::host))
      return op->emitOpError("has a place in the segment '")
             << step::stringifySegment(place.getSegment())
             << (isWaiting ? "', expected 'host'" : "', which is for saves");
    int64_t offset = place.getOffset();
    auto segment = segments.find(place.getSegment());
    int64_t size = segment == segments.end() ? 0 : segment->second;
    if (offset < 0 || offset % 64 != 0)
      return op->emitOpError("has a place at byte ")
             << offset << ", expected a multiple of 64";
    if (bytes > size || offset > size - bytes)
      return op->emitOpError("has a place of ")
             << bytes << " bytes at byte " << offset << " of the segment '"
             << step::stringifySegment(place.getSegment()) << "', which has "
             << size;
    return success();
  }

  LogicalResult checkGroup(step::GroupOp group) {
    if (group.getKind() == step::GroupKind::library &&
        !group->hasAttr(exec::libraryAttrName))
      return group.emitOpError("a library group needs the attribute '")
             << exec::libraryAttrName << "'";
    if (failed(checkTransfer(group)))
      return failure();
    Attribute attribute = group->getAttr(step::scratchBytesAttrName);
    if (!attribute)
      return success();
    return checkPlace(group, step::scratchPlaceAttrName,
                      group->getAttr(step::scratchPlaceAttrName),
                      cast<IntegerAttr>(attribute).getInt());
  }

  /// Saves are read by loads alone, and loads read nothing else.
  LogicalResult checkTransfer(step::GroupOp group) {
    if (!group.isTransfer())
      return success();
    const StringRef kind = step::stringifyGroupKind(group.getKind());
    if (!isa<func::FuncOp>(group->getParentOp()))
      return group.emitOpError("is of kind ")
             << kind << ", which stands in the block of @main alone";
    auto options =
        getOperation()->getAttrOfType<DictionaryAttr>(step::optionsAttrName);
    auto target = options ? options.getAs<StringAttr>("target") : StringAttr();
    if (target && target != "cuda")
      return group.emitOpError("is of kind ")
             << kind << ", which the target " << target << " has not";
    const bool isSave = group.getKind() == step::GroupKind::save;
    if (!isSave && !isOfKind(group.getInputs().front().getDefiningOp(),
                             step::GroupKind::save))
      return group.emitOpError("loads what no group of kind save has made");
    if (isSave && !llvm::all_of(group->getUsers(), [](Operation *reader) {
          return isOfKind(reader, step::GroupKind::load);
        }))
      return group.emitOpError(
          "has a result that others read than groups of kind load");
    return success();
  }

  static bool isOfKind(Operation *op, step::GroupKind kind) {
    auto group = dyn_cast_or_null<step::GroupOp>(op);
    return group && group.getKind() == kind;
  }

  std::map<step::Segment, int64_t> segments; // bytes
};

} // namespace
