//===- Identities.h - Elements that combining leaves alone ----------------===//
//
// Which element a tensor repeats, and which ways to combine leave what it is
// combined with as it is.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDINGCHECK_IDENTITIES_H
#define TENON_LIB_SHARDINGCHECK_IDENTITIES_H

#include "mlir/IR/Value.h"

namespace tenon::shardingcheck {

/// The element that a constant repeats, also where it was moved; null for what
/// is none.
mlir::Attribute splatOf(mlir::Value value);

/// The ways to combine of which an element is the identity, as bits.
unsigned identitiesOf(mlir::Attribute element);

} // namespace tenon::shardingcheck

#endif // TENON_LIB_SHARDINGCHECK_IDENTITIES_H
