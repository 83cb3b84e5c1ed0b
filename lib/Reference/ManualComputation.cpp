//===- ManualComputation.cpp - Programs written per device ----------------===//
//
// sdy.manual_computation on simulated devices: every device of the mesh gets
// its part of the operands, runs the region, and the parts of the results are
// put together. Devices that hold the same part give the same values, so that
// the last one may write. Shardings elsewhere say nothing about values.
//
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "Evaluators.h"

#include "tenon/Dialect/Shardy/Shardy.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

/// Where parts of tensors lie in the mesh, along the manual axes.
class Parts {
public:
  Parts(sdy::MeshAttr mesh, ArrayRef<StringAttr> manual)
      : mesh(mesh), manual(manual) {}

  /// The index of the first element that a device holds, whose part has the
  /// shape `local`; null, with a diagnostic, if parts do not cover the shape.
  FailureOr<Index> startOf(Operation *op, sdy::TensorShardingAttr sharding,
                           ArrayRef<int64_t> global, ArrayRef<int64_t> local,
                           int64_t device) const {
    Index start(global.size(), 0);
    if (sharding.getDimShardings().size() != global.size() ||
        local.size() != global.size())
      return op->emitOpError("has shardings of other ranks than its tensors");
    for (auto [dim, axes] : llvm::enumerate(sharding.getDimShardings())) {
      int64_t part = 0, parts = 1;
      for (sdy::AxisRefAttr axis : axes.getAxes()) {
        if (!isManual(axis.getName()))
          continue;
        if (axis.getSubAxisInfo())
          return op->emitOpError("cuts along a part of an axis, which the "
                                 "reference interpreter does not do");
        int64_t size = *mesh.getAxisSize(axis.getName());
        part = part * size + coordinate(axis.getName(), device);
        parts *= size;
      }
      if (local[dim] * parts != global[dim])
        return op->emitOpError("has ")
               << parts << " parts of " << local[dim] << " in dimension " << dim
               << ", expected them to make up " << global[dim];
      start[dim] = part * local[dim];
    }
    return start;
  }

private:
  bool isManual(StringRef name) const {
    return llvm::any_of(manual, [&](StringAttr axis) { return axis == name; });
  }

  /// The device's coordinate along an axis; the last axis varies fastest.
  int64_t coordinate(StringRef name, int64_t device) const {
    auto listed = llvm::find(mesh.getDeviceIds(), device);
    int64_t position = mesh.getDeviceIds().empty()
                           ? device
                           : listed - mesh.getDeviceIds().begin();
    for (sdy::MeshAxisAttr axis : llvm::reverse(mesh.getAxes())) {
      if (axis.getName() == name)
        return position % axis.getSize();
      position /= axis.getSize();
    }
    return 0;
  }

  sdy::MeshAttr mesh;
  ArrayRef<StringAttr> manual;
};

/// Calls `visit` with the index of every element of a part in the part and in
/// the whole.
template <typename Visit>
void forEach(ArrayRef<int64_t> local, const Index &start, Visit visit) {
  if (llvm::is_contained(local, 0))
    return;
  Index index(local.size(), 0), whole(start);
  do {
    for (auto [to, from, offset] : llvm::zip_equal(whole, index, start))
      to = from + offset;
    visit(index, whole);
  } while (next(index, local));
}

LogicalResult evaluateManualComputation(Operation *op, Interpreter &interpreter,
                                        ArrayRef<Tensor> operands,
                                        Tensors &results) {
  auto computation = cast<sdy::ManualComputationOp>(op);
  auto inputs = computation.getInShardings().getShardings();
  auto outputs = computation.getOutShardings().getShardings();
  Block &body = computation.getBody().front();
  sdy::MeshAttr mesh = !inputs.empty()    ? inputs[0].getMesh(op)
                       : !outputs.empty() ? outputs[0].getMesh(op)
                                          : sdy::MeshAttr();
  std::optional<int64_t> count = mesh ? mesh.getDeviceCount() : std::nullopt;
  if (!count || *count > 1024)
    return op->emitOpError("needs a mesh of at most 1024 devices");
  Parts parts(mesh, computation.getManualAxes().getValue());
  for (Type type : op->getResultTypes())
    results.push_back(Tensor(cast<RankedTensorType>(type)));

  Devices devices(/*replicas=*/1, *count);
  return devices.run([&](int64_t device) -> LogicalResult {
    Tensors arguments;
    for (auto [whole, sharding, argument] :
         llvm::zip_equal(operands, inputs, body.getArguments())) {
      Tensor part(cast<RankedTensorType>(argument.getType()));
      auto start =
          parts.startOf(op, sharding, whole.shape(), part.shape(), device);
      if (failed(start))
        return failure();
      forEach(part.shape(), *start, [&](const Index &local, const Index &at) {
        part.at(local) = whole.at(at);
      });
      arguments.push_back(std::move(part));
    }
    Interpreter own(interpreter.limits(), &devices, device);
    auto values = own.evaluate(computation.getBody(), arguments);
    if (failed(values))
      return failure();
    // Devices take turns, and nobody else writes now.
    for (auto [part, sharding, whole] :
         llvm::zip_equal(*values, outputs, results)) {
      auto start =
          parts.startOf(op, sharding, whole.shape(), part.shape(), device);
      if (failed(start))
        return failure();
      forEach(part.shape(), *start, [&](const Index &local, const Index &at) {
        whole.at(at) = part.at(local);
      });
    }
    return success();
  });
}

LogicalResult forwardOperands(Operation *, Interpreter &,
                              ArrayRef<Tensor> operands, Tensors &results) {
  llvm::append_range(results, operands);
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::shardingEvaluators() {
  static const Evaluator table[] = {
      {"sdy.manual_computation", evaluateManualComputation},
      {"sdy.reshard", forwardOperands},
      {"sdy.sharding_constraint", forwardOperands},
  };
  return table;
}
