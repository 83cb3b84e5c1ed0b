//===- Exec.cpp - The exec dialect ----------------------------------------===//
//
// Registration of the exec dialect.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Exec/Exec.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "tenon/Dialect/Exec/ExecDialect.cpp.inc"
#include "tenon/Dialect/Exec/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Exec/ExecAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "tenon/Dialect/Exec/ExecOps.cpp.inc"

using namespace mlir;
using namespace tenon::exec;

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/Dialect/Exec/ExecAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/Exec/ExecOps.cpp.inc"
      >();
}
