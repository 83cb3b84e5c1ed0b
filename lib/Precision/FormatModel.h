//===- FormatModel.h - What the formats of a step cost --------------------===//
//
// The choice of formats as a problem for Solver/FormatChoice. Level 0 is 16
// bits, level 1 is f32, costs are picoseconds. Variables are
//
//   a class of values   stored narrow or wide
//   a product           multiplying 16-bit operands or f32
//   a copy of a class   level 0: a 16-bit copy is there for products, whatever
//                       the class itself is stored as
//
// A kernel takes as long as its arithmetic or its bytes, whichever is longer,
// and that is no sum. So each byte of a kernel is charged what it costs on
// average: where the value is narrow in the kernels that are known, between
// them and all values wide, otherwise between them and all narrow that may be.
// So the sum is exact for the formats that the kernels have, and at both ends.
//
// Where bytes are weighed, those count that are in memory when more is there
// than is wanted (LiveBytes): values as they are stored, copies for products,
// and what a kernel that casts makes for a product, if it is a large part of
// the peak by itself. Products may read 16 bits where they are not quicker,
// too: the library widens blocks of them. What the peak becomes with other
// formats is known as well, as far as they do not change the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_FORMATMODEL_H
#define TENON_LIB_PRECISION_FORMATMODEL_H

#include "FormatClasses.h"

#include "tenon/Precision/FormatReport.h"
#include "tenon/Precision/Outlook.h"
#include "tenon/Solver/FormatChoice.h"

namespace tenon::precision {

struct FormatModel {
  solver::FormatProblem problem;
  /// Seconds that no format changes.
  double fixedSeconds = 0;
  /// Seconds of the step as it is.
  double wideSeconds = 0;
  /// Per class and per product; -1 for what stays as it is.
  std::vector<int> variableOfClass, variableOfProduct;
  /// Why a class that may be narrow has no variable, or why a product has none.
  std::vector<std::string> whyFixedClass, whyFixedProduct;

  /// Bytes that are in memory while some kernels run. If there is a variable
  /// `wide`, that is f32, and if there is a variable `narrow`, that is not.
  struct Stay {
    size_t first, last;
    double bytes;
    int wide = -1, narrow = -1;
  };
  /// Where bytes are weighed.
  std::vector<Stay> stays;

  /// The most bytes that are in memory at once with these levels.
  double peak(const solver::FormatSolution &solution) const;
  /// Seconds of the step with these levels.
  double seconds(const solver::FormatSolution &solution) const {
    return fixedSeconds + double(solution.cost) * 1e-12;
  }
};

/// Whether products will find an argument in 16 bits, at no cost.
using IsHeldNarrow = llvm::function_ref<bool(mlir::BlockArgument)>;

/// `step` carries the numbers that `kernels` speak of. What is settled, classes
/// and then products by number, has no other level. Products may be narrow in
/// calls of libraries, by instructions for that or with `mostBytes`, and with
/// `narrowKernels` in any kernel. Bytes are those of classes; with `mostBytes`,
/// which the peak should have at most, those that count, for a problem that
/// gets a price.
FormatModel modelFormats(mlir::func::FuncOp step, const FormatClasses &classes,
                         llvm::ArrayRef<PlannedKernel> kernels,
                         const SettledFormats &settled,
                         const target::Target &machine, target::Isa isa,
                         bool narrowKernels, double mostBytes,
                         IsHeldNarrow isHeldNarrow);

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_FORMATMODEL_H
