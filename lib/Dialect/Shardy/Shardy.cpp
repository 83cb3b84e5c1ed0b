//===- Shardy.cpp - The sdy dialect ---------------------------------------===//
//
// Registration, and the text of operations with regions.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Shardy/Shardy.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tenon::sdy;

#include "tenon/Dialect/Shardy/ShardyDialect.cpp.inc"
#include "tenon/Dialect/Shardy/ShardyEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Shardy/ShardyAttributes.cpp.inc"

//===----------------------------------------------------------------------===//
// Text of operations
//===----------------------------------------------------------------------===//

/// `[<@mesh, [...]>, ...]`: shardings per value without the outer brackets.
static ParseResult
parseStrippedTensorShardingPerValueAttr(OpAsmParser &parser,
                                        TensorShardingPerValueAttr &result) {
  SmallVector<TensorShardingAttr> shardings;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        auto sharding = dyn_cast_or_null<TensorShardingAttr>(
            TensorShardingAttr::parse(parser, {}));
        shardings.push_back(sharding);
        return failure(!sharding);
      }))
    return failure();
  result = TensorShardingPerValueAttr::get(parser.getContext(), shardings);
  return success();
}

static void
printStrippedTensorShardingPerValueAttr(OpAsmPrinter &printer, Operation *,
                                        TensorShardingPerValueAttr shardings) {
  printer << "[";
  llvm::interleaveComma(
      shardings.getShardings(), printer,
      [&](TensorShardingAttr sharding) { sharding.print(printer); });
  printer << "]";
}

/// `(%a: type, ...) { ... }`: a region of one block whose arguments stand
/// before it.
static ParseResult parseSingleBlockRegionNoBlockId(OpAsmParser &parser,
                                                   Region &region) {
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true, /*allowAttrs=*/true) ||
      parser.parseRegion(region, arguments));
}

static void printSingleBlockRegionNoBlockId(OpAsmPrinter &printer, Operation *,
                                            Region &region) {
  printer << "(";
  llvm::interleaveComma(
      region.getArguments(), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

#define GET_OP_CLASSES
#include "tenon/Dialect/Shardy/ShardyOps.cpp.inc"

void SdyDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/Dialect/Shardy/ShardyAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/Shardy/ShardyOps.cpp.inc"
      >();
}
