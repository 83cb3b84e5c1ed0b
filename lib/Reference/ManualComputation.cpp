//===- ManualComputation.cpp - Programs written per device ----------------===//
//
// sdy.manual_computation on simulated devices: every device of the mesh gets
// its part of the operands, runs the region, and the parts of the results are
// put together. Devices that hold the same part have to agree on it. Inside of
// another computation on the same mesh the devices are there already, and those
// that differ along the manual axes alone put a tensor together. Shardings
// elsewhere say nothing about values.
//
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "Evaluators.h"

#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Reference/Compare.h"

#include <map>

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
    for (sdy::AxisRefAttr axis : sharding.getUnreducedAxes())
      if (isManual(axis.getName()))
        return op->emitOpError("has parts of a reduction along axis '")
               << axis.getName()
               << "', which the reference interpreter does not put together";
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

  /// The devices that differ from one along the manual axes alone.
  SmallVector<int64_t> groupOf(int64_t device, int64_t count) const {
    SmallVector<int64_t> group;
    for (int64_t other = 0; other < count; ++other)
      if (llvm::all_of(mesh.getAxes(), [&](sdy::MeshAxisAttr axis) {
            return isManual(axis.getName()) ||
                   coordinate(axis.getName(), device) ==
                       coordinate(axis.getName(), other);
          }))
        group.push_back(other);
    return group;
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

/// One run of an sdy.manual_computation.
class ManualRun {
public:
  ManualRun(sdy::ManualComputationOp op, Parts parts)
      : op(op), parts(parts), inputs(op.getInShardings().getShardings()),
        outputs(op.getOutShardings().getShardings()) {}

  /// What one device holds of the operands.
  FailureOr<Tensors> split(ArrayRef<Tensor> operands, int64_t device) const {
    Tensors arguments;
    for (auto [whole, sharding, argument] : llvm::zip_equal(
             operands, inputs, op.getBody().front().getArguments())) {
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
    return arguments;
  }

  /// The results, of what each of `devices` returned.
  LogicalResult join(ArrayRef<int64_t> devices, ArrayRef<Tensors> returned,
                     Tensors &results) const {
    for (auto [index, sharding, value] :
         llvm::enumerate(outputs, op->getResults())) {
      Tensor whole(cast<RankedTensorType>(value.getType()));
      // The first device at each start, and its part.
      std::map<Index, std::pair<int64_t, const Tensor *>> known;
      for (auto [device, values] : llvm::zip_equal(devices, returned)) {
        const Tensor &part = values[index];
        auto start =
            parts.startOf(op, sharding, whole.shape(), part.shape(), device);
        if (failed(start))
          return failure();
        auto [first, isNew] = known.insert({*start, {device, &part}});
        if (!isNew) {
          if (auto difference =
                  firstDifference(part, *first->second.second, Tolerance()))
            return op->emitOpError("has different values in a part of result ")
                   << index << " that devices " << first->second.first
                   << " and " << device << " both hold: " << *difference;
          continue;
        }
        forEach(part.shape(), *start, [&](const Index &local, const Index &at) {
          whole.at(at) = part.at(local);
        });
      }
      results.push_back(std::move(whole));
    }
    return success();
  }

private:
  mutable sdy::ManualComputationOp op;
  Parts parts;
  ArrayRef<sdy::TensorShardingAttr> inputs, outputs;
};

LogicalResult evaluateManualComputation(Operation *op, Interpreter &interpreter,
                                        ArrayRef<Tensor> operands,
                                        Tensors &results) {
  auto computation = cast<sdy::ManualComputationOp>(op);
  auto inputs = computation.getInShardings().getShardings();
  auto outputs = computation.getOutShardings().getShardings();
  sdy::MeshAttr mesh = !inputs.empty()    ? inputs[0].getMesh(op)
                       : !outputs.empty() ? outputs[0].getMesh(op)
                                          : sdy::MeshAttr();
  std::optional<int64_t> stated = mesh ? mesh.getDeviceCount() : std::nullopt;
  if (!stated || *stated > 1024)
    return op->emitOpError("needs a mesh of at most 1024 devices");
  // A mesh without axes has no number of devices; one runs it.
  const int64_t count = std::max<int64_t>(*stated, 1);
  Parts parts(mesh, computation.getManualAxes().getValue());
  ManualRun run(computation, parts);

  if (!interpreter.isAlone()) {
    Devices &devices = interpreter.devices();
    if (devices.replicas != 1 || devices.partitions != count)
      return op->emitOpError("is for a mesh of ")
             << count << " devices and runs on one of " << devices.replicas
             << " replicas of " << devices.partitions << " partitions";
    int64_t device = interpreter.process();
    auto arguments = run.split(operands, device);
    if (failed(arguments))
      return failure();
    auto values = interpreter.evaluate(computation.getBody(), *arguments);
    if (failed(values))
      return failure();
    SmallVector<int64_t> group = parts.groupOf(device, count);
    auto returned = devices.exchange(op, device, group, std::move(*values));
    return failed(returned) ? failure() : run.join(group, *returned, results);
  }

  Devices devices(/*replicas=*/1, count);
  std::vector<Tensors> returned(count);
  if (failed(devices.run([&](int64_t device) -> LogicalResult {
        auto arguments = run.split(operands, device);
        if (failed(arguments))
          return failure();
        Interpreter own(interpreter.subnormals(), interpreter.limits(), &devices,
                        device);
        auto values = own.evaluate(computation.getBody(), *arguments);
        if (failed(values))
          return failure();
        returned[device] = std::move(*values);
        return success();
      })))
    return failure();
  return run.join(llvm::to_vector(llvm::seq<int64_t>(0, count)), returned,
                  results);
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
