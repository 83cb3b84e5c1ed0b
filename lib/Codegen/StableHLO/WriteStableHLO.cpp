//===- WriteStableHLO.cpp - A module as text that every XLA reads ---------===//
//
// See WriteStableHLO.h. MLIR's printer does the work; what is decided here is
// what its versions do not agree on.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/StableHLO/WriteStableHLO.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;

/// Whether the printer would write booleans as one string of bytes: MLIR packs
/// eight of them into a byte in some versions and not in others.
static bool hasLongBooleans(ModuleOp module) {
  auto isLong = [](Attribute attribute) {
    auto elements = dyn_cast<DenseElementsAttr>(attribute);
    return elements && elements.getElementType().isInteger(1) &&
           !elements.isSplat() &&
           OpPrintingFlags().shouldPrintElementsAttrWithHex(elements);
  };
  return module
      .walk([&](Operation *op) {
        return llvm::any_of(op->getAttrs(),
                            [&](NamedAttribute named) {
                              return isLong(named.getValue());
                            })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether some location is more than a place in the file that was read.
static bool hasOwnLocations(ModuleOp module) {
  auto isOwn = [](Location location) {
    return !isa<FileLineColLoc, UnknownLoc>(location);
  };
  return module
      .walk([&](Operation *op) {
        bool own = isOwn(op->getLoc());
        for (Region &region : op->getRegions())
          for (Block &block : region)
            own |= llvm::any_of(block.getArguments(), [&](Value argument) {
              return isOwn(argument.getLoc());
            });
        return own ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

std::string codegen::writeStableHLO(ModuleOp module,
                                    const WriteOptions &options) {
  OpPrintingFlags flags;
  if (options.generic)
    flags.printGenericOpForm();
  if (hasLongBooleans(module))
    flags.printLargeElementsAttrWithHex(-1);
  if (hasOwnLocations(module))
    flags.enableDebugInfo();
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, flags);
  stream << "\n";
  return text;
}
