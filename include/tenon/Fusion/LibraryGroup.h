//===- LibraryGroup.h - Whether a group is the call it describes ---------===//
//
// What a library group computes stands in its body, what the library is asked
// to do in its description. This holds one against the other wherever text is
// read that may have been edited, and knows the bias that a matrix product may
// end with.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_LIBRARYGROUP_H
#define TENON_FUSION_LIBRARYGROUP_H

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/LibraryCandidates.h"

namespace tenon::fusion {

/// A sum that adds to a value a broadcast one of its last dimensions, and may
/// be rounded to 16 bits.
struct BiasAddition {
  stablehlo::AddOp add;
  stablehlo::ConvertOp rounding; // null for none
  stablehlo::BroadcastInDimOp broadcast;
  mlir::Value product, bias;
  int64_t columns = 1; // values of the bias
};

/// The one that ends with `result`.
std::optional<BiasAddition> biasAddition(mlir::Value result);

/// Makes the addition part of the call. False, with the reason, if the product
/// is rounded before, or if the bias has not one value per column of the
/// product as it lies in memory: column j is what lies at offsets j, n + j, 2 n
/// + j, ... of the result.
bool addEpilogue(libraries::MatmulDescription &matmul,
                 const BiasAddition &addition, std::string &whyNot);

/// Fails, with an error at the group, if its description is missing or is not
/// that of its operations. Into how many pieces the work is cut may be
/// anything.
mlir::LogicalResult verifyLibraryGroup(step::GroupOp group);

} // namespace tenon::fusion

#endif // TENON_FUSION_LIBRARYGROUP_H
