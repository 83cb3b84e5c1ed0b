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
#include "tenon/Sharding/ScatterHalo.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace tenon::sharding {

class LocalCode {
public:
  /// Numbers of shards, their multiples and scalars are there once, at the
  /// start of `entry`.
  LocalCode(const Mesh &mesh, mlir::Block &entry) : mesh(mesh), entry(entry) {}

  /// The type of a device's part of a tensor.
  static mlir::RankedTensorType localType(mlir::Type whole,
                                          const Layout &layout);

  /// The number of this device along `parts`, a scalar i32.
  mlir::Value indexAlong(llvm::ArrayRef<AxisPart> parts);
  /// The index, in the whole tensor, of the first element of this device's
  /// shard of a dimension, a scalar i32.
  mlir::Value startOf(int64_t extent, llvm::ArrayRef<AxisPart> parts);

  /// The number of this device along `parts`, times `step` and on from `first`.
  mlir::Value startOf(mlir::ImplicitLocOpBuilder &builder,
                      llvm::ArrayRef<AxisPart> parts, int64_t step,
                      int64_t first);

  /// `local`, a part of a tensor of type `whole`, with the identity of a
  /// reduction in the tail of dimension `dim`; as it is if there is no tail.
  mlir::Value maskTail(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                       mlir::RankedTensorType whole, const Layout &layout,
                       int64_t dim, Reduction reduction);

  /// `local` on the first device along `parts`, the identity of a reduction
  /// on the others.
  mlir::Value onFirst(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                      llvm::ArrayRef<AxisPart> parts, Reduction reduction);

  /// What windows along dimension `dim`, which is cut by `parts`, read on this
  /// device of a tensor of which it has `local`.
  mlir::Value withHalo(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                       int64_t dim, llvm::ArrayRef<AxisPart> parts,
                       const Halo &halo);
  /// The same with the scalar `fill` for what is outside of the `extent`
  /// elements that there are, as far as windows read it.
  mlir::Value maskOutside(mlir::ImplicitLocOpBuilder &builder,
                          mlir::Value local, int64_t dim, int64_t extent,
                          llvm::ArrayRef<AxisPart> parts, const Halo &halo,
                          mlir::Value fill);

  /// The same for `tensor`, the operand or the source of windows that add.
  mlir::Value withHalo(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                       int64_t dim, llvm::ArrayRef<AxisPart> parts,
                       const ScatterHalo &halo,
                       const ScatterHalo::Tensor &tensor);
  /// The own shard of the result of such windows.
  mlir::Value withoutHalo(mlir::ImplicitLocOpBuilder &builder,
                          mlir::Value local, int64_t dim,
                          llvm::ArrayRef<AxisPart> parts,
                          const ScatterHalo &halo);

  /// Carries a plan out on a part of a tensor of type `whole`.
  mlir::Value reshard(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                      mlir::RankedTensorType whole, const ReshardPlan &plan);

private:
  /// A constant i32.
  mlir::Value scalar(int64_t number);
  /// The number of this device along `parts`, so many times.
  mlir::Value multipleOf(llvm::ArrayRef<AxisPart> parts, int64_t number);
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
  /// What the device so many places in front of this one has, along a ring.
  mlir::Value fromInFront(mlir::ImplicitLocOpBuilder &builder,
                          mlir::Value local, llvm::ArrayRef<AxisPart> parts,
                          int64_t hops);
  /// `local` between so many elements of the devices in front and behind.
  mlir::Value withNeighbours(mlir::ImplicitLocOpBuilder &builder,
                             mlir::Value local, int64_t dim,
                             llvm::ArrayRef<AxisPart> parts, int64_t left,
                             int64_t right);
  /// The first window that this device runs, times `each`.
  mlir::Value firstWindow(mlir::ImplicitLocOpBuilder &builder,
                          llvm::ArrayRef<AxisPart> parts,
                          const ScatterHalo &halo, int64_t each);
  mlir::Value reduce(mlir::ImplicitLocOpBuilder &builder, mlir::Value local,
                     mlir::RankedTensorType whole, const ReshardStep &step);
  mlir::DenseIntElementsAttr groupsAlong(mlir::ImplicitLocOpBuilder &builder,
                                         llvm::ArrayRef<AxisPart> parts);

  const Mesh &mesh;
  mlir::Block &entry;
  std::map<std::vector<AxisPart>, mlir::Value> indices;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> multiples;
  llvm::DenseMap<int64_t, mlir::Value> scalars;
  mlir::Value lastScalar; // behind all others, which are made in front
};

/// A tensor that repeats a scalar.
mlir::Value repeat(mlir::ImplicitLocOpBuilder &builder, mlir::Value scalar,
                   llvm::ArrayRef<int64_t> shape);

} // namespace tenon::sharding

#endif // TENON_LIB_SHARDING_LOCALCODE_H
