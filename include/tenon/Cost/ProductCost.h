//===- ProductCost.h - Seconds of small products by library and kernel ----===//
//
// A library's call has a price before it multiplies anything: some 250 ns, and
// up to as much again for each matrix of a batch that lies inside the operands.
// A generated kernel has hardly any, but packs no operands either, so it
// gathers where they lie the wrong way. Which of them takes less time is a
// function of extents, strides and instruction set, by a committed table of
// rates (docs/Rationale/LibraryCalls.md).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COST_PRODUCTCOST_H
#define TENON_COST_PRODUCTCOST_H

#include "tenon/Target/InstructionSets.h"

#include "mlir/IR/Operation.h"

#include <array>
#include <optional>

namespace tenon::cost {

/// What a product does, counted in things that take the same time each: by a
/// generated kernel and by a library's call. ProductCost.cpp names them.
struct ProductCounts {
  std::array<double, 14> kernel = {};
  std::array<double, 35> call = {};
};

/// Of a stablehlo.dot_general of f32 with one summed dimension, whose rows,
/// columns and sums are at most 64 long and whose batch is at most 2,048, which
/// is where rates were measured; nothing for every other operation. It looks at
/// the dot alone, never at transposes around it.
std::optional<ProductCounts> countProduct(mlir::Operation *op, target::Isa isa);

/// Seconds of a product on one core.
struct ProductSeconds {
  double library = 0, generated = 0;
};

/// By the rates for `isa`; as countProduct().
std::optional<ProductSeconds> productSeconds(mlir::Operation *op,
                                             target::Isa isa);

} // namespace tenon::cost

#endif // TENON_COST_PRODUCTCOST_H
