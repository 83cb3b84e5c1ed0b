//===- Unfolder.h - A body that runs per device, for all of them at once --===//
//
// A value of such a body becomes one tensor of what all devices have: along
// each axis of the mesh on which the value differs it has a leading dimension,
// the major axis first, and then the dimensions that one device sees. What does
// not differ along an axis has no dimension for it. Operations compute on all
// devices at once, and what devices exchange becomes sums along leading
// dimensions, or leading dimensions that change places with others.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_IMPORT_PERDEVICE_UNFOLDER_H
#define TENON_LIB_IMPORT_PERDEVICE_UNFOLDER_H

#include "DeviceAxes.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::importer {

/// What all devices have of a value.
struct Unfolded {
  mlir::Value whole;
  /// Along which it differs: its leading dimensions.
  AxisSet axes = 0;

  int64_t leading() const { return llvm::popcount(axes); }
  /// The shape that one device sees.
  llvm::ArrayRef<int64_t> local() const {
    return shapeOf(whole).drop_front(leading());
  }
};

class Unfolder {
public:
  /// With `constrains` each device keeps what it has: arguments of bodies and
  /// what is exchanged have to lie so.
  Unfolder(mlir::ModuleOp module, bool constrains)
      : symbols(module), builder(module.getLoc(), module.getContext()),
        constrains(constrains) {}

  /// Writes what a computation means in front of it and takes it out. Fails,
  /// with an error at the operation that has no meaning for all devices at
  /// once.
  mlir::LogicalResult unfold(sdy::ManualComputationOp op);

  /// Takes out the functions that only bodies called: they are per device, too.
  void dropCalled();

private:
  using Results = llvm::SmallVector<Unfolded>;

  // Values.
  mlir::FailureOr<Unfolded> get(mlir::Value value);
  mlir::LogicalResult getAll(mlir::ValueRange values, Results &found);
  AxisSet unionOf(llvm::ArrayRef<Unfolded> values) const;
  /// With a dimension for each axis in front.
  llvm::SmallVector<int64_t> shapeFor(llvm::ArrayRef<int64_t> local,
                                      AxisSet axes) const;
  mlir::RankedTensorType typeFor(mlir::Type local, AxisSet axes) const;

  // Leading dimensions.
  /// The same along more axes.
  Unfolded spread(Unfolded value, AxisSet axes);
  /// What the first device has along some axes.
  Unfolded first(Unfolded value, AxisSet axes);
  /// Cuts a dimension into one part per device along axes, major first.
  Unfolded cut(Unfolded value, int64_t dim, llvm::ArrayRef<unsigned> axes);
  /// Joins the parts of devices along a dimension.
  Unfolded join(Unfolded value, int64_t dim, llvm::ArrayRef<unsigned> axes);
  /// Dimension `at`, cut into a part per device along axes, in their order.
  mlir::Value splitDim(mlir::Value value, int64_t at,
                       llvm::ArrayRef<unsigned> axes);
  Unfolded constrained(Unfolded value);
  /// Of leading dimensions: each lies along its axis.
  llvm::SmallVector<sdy::DimensionShardingAttr> lyingAlong(AxisSet axes) const;
  /// What the collective's region makes of the values along axes.
  mlir::FailureOr<Unfolded> reduced(mlir::Operation *op, Unfolded value,
                                    llvm::ArrayRef<unsigned> axes);
  Unfolded exchanged(Unfolded value, llvm::ArrayRef<unsigned> axes,
                     int64_t split, int64_t joined);
  Unfolded moved(Unfolded value, const Move &move);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> order);

  // Operations.
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitBlock(mlir::Block &block,
                                 llvm::ArrayRef<Unfolded> arguments,
                                 Results &results);
  /// Creates an operation like `op` for all devices.
  mlir::LogicalResult
  rebuild(mlir::Operation *op, llvm::ArrayRef<Unfolded> operands, AxisSet axes,
          llvm::ArrayRef<mlir::NamedAttribute> changed = {});
  /// The operands along all axes of any of them.
  mlir::LogicalResult together(mlir::Operation *op, Results &operands,
                               AxisSet &axes);
  mlir::LogicalResult compute(mlir::Operation *op);
  mlir::LogicalResult computation(sdy::ManualComputationOp op);
  mlir::LogicalResult call(mlir::Operation *op, mlir::StringRef callee);
  mlir::LogicalResult elementwise(mlir::Operation *op);
  mlir::LogicalResult shape(mlir::Operation *op);
  mlir::LogicalResult reduction(mlir::Operation *op);
  mlir::LogicalResult contraction(mlir::Operation *op);
  mlir::LogicalResult convolution(mlir::Operation *op);
  mlir::LogicalResult gather(mlir::Operation *op);
  mlir::LogicalResult scatter(mlir::Operation *op);
  mlir::LogicalResult dynamicSlice(mlir::Operation *op);
  mlir::LogicalResult loop(mlir::Operation *op);
  mlir::LogicalResult branches(mlir::Operation *op);
  mlir::LogicalResult collective(mlir::Operation *op);
  mlir::LogicalResult constraint(mlir::Operation *op);
  /// Integers that follow from the device's number alone.
  bool number(mlir::Operation *op);

  mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &why);

  mlir::SymbolTable symbols;
  mlir::ImplicitLocOpBuilder builder;
  bool constrains;
  std::optional<DeviceAxes> devices;
  /// The axes along which the body at hand is per device.
  AxisSet manual = 0;
  mlir::Attribute meshName;
  llvm::DenseMap<mlir::Value, Unfolded> known;
  /// Scalars with a number per device, by device.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> numbers;
  /// Functions whose bodies are being written.
  llvm::DenseSet<mlir::Operation *> calling;
  llvm::SetVector<mlir::Operation *> called;
};

} // namespace tenon::importer

#endif // TENON_LIB_IMPORT_PERDEVICE_UNFOLDER_H
