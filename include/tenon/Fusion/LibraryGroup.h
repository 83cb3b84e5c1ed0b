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

/// The matrix product that a call computes, on a processor or a GPU; null if it
/// computes something else.
libraries::MatmulDescription *matmulOf(libraries::Description &description);

/// A sum that adds to a product a broadcast value of its last dimensions, which
/// may be widened from 16 bits before, and may be rounded to 16 bits; or one
/// that adds a value of the product's shape.
struct BiasAddition {
  stablehlo::AddOp add;
  stablehlo::ConvertOp rounding;         // null for none
  stablehlo::BroadcastInDimOp broadcast; // null for a value of the same shape
  mlir::Value product, bias;
  int64_t columns = 1; // values of a bias that is broadcast
};

/// The groups of a function that are calls, in its order.
llvm::SmallVector<step::GroupOp> libraryGroups(mlir::Operation *function);

/// The call that a group describes, if it computes a matrix product on a GPU
/// and does nothing with it yet.
std::optional<libraries::GpuMatmulDescription>
plainGpuMatmul(step::GroupOp group);

/// Clones what the group of a matrix product computes, its operands mapped, and
/// returns the product as it is before it is rounded to 16 bits.
mlir::Value cloneProduct(mlir::OpBuilder &builder, step::GroupOp call,
                         mlir::IRMapping &mapping);

/// The one that ends with `result` and adds what is broadcast.
std::optional<BiasAddition> biasAddition(mlir::Value result);
/// The one that is `result` and adds another value to `product`.
std::optional<BiasAddition> addendAddition(mlir::Value result,
                                           mlir::Value product);

/// Whether the bias has one value per column of the product as it lies in
/// memory: column j is what lies at offsets j, n + j, 2 n + j, ... of the
/// result.
bool addsPerColumn(const libraries::MatmulDescription &matmul,
                   const BiasAddition &addition);

/// Makes the addition part of the call. False, with the reason, if the product
/// is rounded before, if the bias is of a type that the library does not add or
/// has not one value per column, or if a value of the product's shape is to be
/// added by a call that does not.
bool addEpilogue(libraries::Description &call, const BiasAddition &addition,
                 std::string &whyNot);

/// What a group adds up of an operand: all that its first dimensions have, in
/// f32.
struct OperandSum {
  stablehlo::ReduceOp reduce;
  mlir::BlockArgument operand; // may be widened before
};

/// The one that `sum` is; nothing if it is something else.
std::optional<OperandSum> operandSum(mlir::Value sum);

/// The dimensions that the product contracts of the operand of its group, if
/// these are its first ones and all others are columns; empty if not.
llvm::ArrayRef<int64_t> contractedFirst(step::GroupOp call,
                                        mlir::BlockArgument operand);

/// Fails, with an error at the group, if its description is missing or is not
/// that of its operations. Into how many pieces the work is cut may be
/// anything.
mlir::LogicalResult verifyLibraryGroup(step::GroupOp group);

} // namespace tenon::fusion

#endif // TENON_FUSION_LIBRARYGROUP_H
