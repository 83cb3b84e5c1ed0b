//===- LocalCode.h - What one device computes -----------------------------===//
//
// Code on a device's shards: the place of a device in the mesh, masks of tails,
// and the collectives that move tensors from one layout to another. Every
// device runs the same code; what differs is computed from its number,
// stablehlo.partition_id. Used by the partitioner.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDING_LOCALCODE_H
#define TENON_LIB_SHARDING_LOCALCODE_H

#include "tenon/Sharding/PlanReshard.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>

namespace tenon::sharding {

class LocalCode {
public:
  /// Numbers of shards are computed once, at the start of `entry`.
  LocalCode(const Mesh &mesh, mlir::Block &entry) : mesh(mesh), entry(entry) {}

  /// The type of a device's part of a tensor.
  static mlir::RankedTensorType localType(mlir::Type whole,
                                          const Layout &layout);

  /// The number of this device along `parts`, a scalar i32.
  mlir::Value indexAlong(llvm::ArrayRef<AxisPart> parts);
  /// The index, in the whole tensor, of the first element of this device's
  /// shard of a dimension, a scalar i32.
  mlir::Value startOf(mlir::ImplicitLocOpBuilder &builder, int64_t extent,
                      llvm::ArrayRef<AxisPart> parts);

  /// `local`, a part of a tensor of type `whole`, with the identity of a
  /// reduction in the tail of dimension `dim`; as it is if there is no tail.
  mlir::Value maskTail(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                       mlir::RankedTensorType whole, const Layout &layout,
                       int64_t dim, Reduction reduction);

  /// `local` on the first device along `parts`, the identity of a reduction
  /// on the others.
  mlir::Value onFirst(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                      llvm::ArrayRef<AxisPart> parts, Reduction reduction);

  /// Carries a plan out on a part of a tensor of type `whole`.
  mlir::Value reshard(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                      mlir::RankedTensorType whole, const ReshardPlan &plan);

private:
  mlir::Value step(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                   mlir::RankedTensorType whole, const ReshardStep &step);
  mlir::Value slice(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                    mlir::RankedTensorType whole, const ReshardStep &step);
  mlir::Value gather(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                     mlir::RankedTensorType whole, const ReshardStep &step);
  mlir::Value exchange(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                       mlir::RankedTensorType whole, const ReshardStep &step);
  mlir::Value permute(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                      const ReshardStep &step);
  mlir::Value reduce(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                     mlir::RankedTensorType whole, const ReshardStep &step);
  mlir::DenseIntElementsAttr groupsAlong(mlir::ImplicitLocOpBuilder &builder,
                                         llvm::ArrayRef<AxisPart> parts);

  const Mesh &mesh;
  mlir::Block &entry;
  std::map<std::vector<AxisPart>, mlir::Value> indices;
};

/// A tensor that repeats a scalar.
mlir::Value repeat(mlir::ImplicitLocOpBuilder &builder, mlir::Value scalar,
                   llvm::ArrayRef<int64_t> shape);

} // namespace tenon::sharding

#endif // TENON_LIB_SHARDING_LOCALCODE_H
