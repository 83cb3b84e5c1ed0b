//===- Types.cpp - Types and enumerations of stablehlo --------------------===//
//
// Definitions of tokens, futures and the enumerations.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tenon::stablehlo;

#include "tenon/Dialect/StableHLO/StableHLOEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "tenon/Dialect/StableHLO/StableHLOTypes.cpp.inc"

void StableHLODialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tenon/Dialect/StableHLO/StableHLOTypes.cpp.inc"
      >();
}

Type StableHLODialect::parseType(DialectAsmParser &parser) const {
  StringRef mnemonic;
  Type type;
  if (generatedTypeParser(parser, &mnemonic, type).has_value())
    return type;
  parser.emitError(parser.getNameLoc())
      << "unknown stablehlo type '" << mnemonic << "'";
  return {};
}

void StableHLODialect::printType(Type type, DialectAsmPrinter &printer) const {
  if (failed(generatedTypePrinter(type, printer)))
    llvm_unreachable("a type of this dialect without a printer");
}
