//===- Exchanges.h - Groups in which ranks meet ---------------------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_EXCHANGES_H
#define TENON_LIB_MEMORY_EXCHANGES_H

#include "mlir/IR/Operation.h"

namespace tenon::memory {

/// Whether the operation is a group in which ranks exchange something.
bool isExchange(mlir::Operation *op);

/// Whether it is one that takes longer than it takes to run it beside others. A
/// group without a predicted time is taken to.
bool isWorthQueue(mlir::Operation *op, int64_t switchNanoseconds);

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_EXCHANGES_H
