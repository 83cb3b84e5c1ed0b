//===- StableHLO.td - The whole stablehlo dialect -------------------------===//
//
// All subjects of the dialect in one file, for generators that want every
// definition and for other dialects that refer to this one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_STABLEHLO_TD
#define TENON_DIALECT_STABLEHLO_STABLEHLO_TD

include "tenon/Dialect/StableHLO/Collective.td"
include "tenon/Dialect/StableHLO/Contraction.td"
include "tenon/Dialect/StableHLO/Control.td"
include "tenon/Dialect/StableHLO/Elementwise.td"
include "tenon/Dialect/StableHLO/Indexing.td"
include "tenon/Dialect/StableHLO/Math.td"
include "tenon/Dialect/StableHLO/Reduction.td"
include "tenon/Dialect/StableHLO/Shape.td"
include "tenon/Dialect/StableHLO/Types.td"

#endif // TENON_DIALECT_STABLEHLO_STABLEHLO_TD
