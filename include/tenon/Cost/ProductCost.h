//===- ProductCost.h - Seconds of small products by library and kernel ----===//
//
// A library's call has a price before it multiplies anything: some 250 ns, and
// up to as much again for each matrix of a batch that lies inside the operands.
// A generated kernel has hardly any, but packs no operands either, so it
// turns or gathers them where they lie the wrong way. Which of them takes less
// time is a function of extents, strides, instruction set and kind of core, by
// a committed table of rates (docs/Rationale/LibraryCalls.md).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COST_PRODUCTCOST_H
#define TENON_COST_PRODUCTCOST_H

#include "tenon/Target/Target.h"

#include "mlir/IR/Operation.h"

#include <array>
#include <optional>

namespace tenon::cost {

/// What a product does, counted in things that take the same time each: by a
/// generated kernel and by a library's call. ProductCost.cpp names them.
struct ProductCounts {
  std::array<double, 18> kernel = {};
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

/// By code for `isa` on the cores of `machine`; as countProduct().
std::optional<ProductSeconds> productSeconds(mlir::Operation *op,
                                             const target::Target &machine,
                                             target::Isa isa);

} // namespace tenon::cost

#endif // TENON_COST_PRODUCTCOST_H
