//===- DeviceCount.cpp - For how many devices a program is written --------===//
//
// See DeviceCount.h. Attributes are found by name, so that operations that no
// dialect has count, too.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/DeviceCount.h"

#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tenon;

static constexpr int64_t most = std::numeric_limits<int64_t>::max();

static int64_t product(int64_t a, int64_t b) {
  return mulChecked(a, b).value_or(most);
}

/// The devices that a table of ids needs: ids count from 0.
static int64_t devicesIn(DenseIntElementsAttr table) {
  int64_t devices = 1;
  auto add = [&](const APInt &id) {
    if (!id.isNegative())
      devices =
          std::max<int64_t>(devices, int64_t(id.getLimitedValue(most - 1)) + 1);
  };
  // A repeated id is one number, however large the table.
  if (table.isSplat())
    add(table.getSplatValue<APInt>());
  else
    llvm::for_each(table.getValues<APInt>(), add);
  return devices;
}

static int64_t devicesIn(stablehlo::MeshAttr mesh) {
  int64_t devices = 1;
  for (stablehlo::MeshAxisAttr axis : mesh.getAxes())
    devices = product(devices, axis.getSize());
  return devices;
}

/// A count that the module states as an attribute; 1 without it.
static int64_t statedCount(Operation *module, StringRef name) {
  auto count = module->getAttrOfType<IntegerAttr>(name);
  return count && count.getValue().isStrictlyPositive()
             ? int64_t(count.getValue().getLimitedValue(most))
             : 1;
}

static void addStatedCounts(Operation *module, DeviceCount &count) {
  std::string reason;
  int64_t devices = 1;
  for (StringRef name : {"mhlo.num_replicas", "mhlo.num_partitions"}) {
    int64_t stated = statedCount(module, name);
    devices = product(devices, stated);
    if (stated > 1)
      reason += (reason.empty() ? "'" : " and '") + name.str() + "' is " +
                std::to_string(stated);
  }
  if (devices > count.devices)
    count = {devices, reason, module};
}

DeviceCount tenon::devicesNamedBy(Operation *op) {
  DeviceCount count;
  auto add = [&](int64_t devices, const Twine &who, const Twine &what) {
    if (devices > count.devices)
      count = {devices,
               (who + " " + what + std::to_string(devices) + " devices").str(),
               op};
  };
  if (isa<ModuleOp>(op))
    addStatedCounts(op, count);
  DictionaryAttr attributes = op->getAttrDictionary();
  for (StringRef name : {"replica_groups", "source_target_pairs"})
    if (auto table = attributes.getAs<DenseIntElementsAttr>(name))
      if (!table.empty())
        add(devicesIn(table), "'" + name + "'", "is for at least ");
  std::string mesh = "a mesh";
  if (auto named = dyn_cast<sdy::MeshOp>(op))
    mesh = "mesh @" + named.getSymName().str();
  AttrTypeWalker walker;
  walker.addWalk([&](sdy::MeshAttr attribute) {
    add(attribute.getDeviceCount().value_or(most), mesh, "has ");
  });
  walker.addWalk([&](stablehlo::MeshAttr attribute) {
    add(devicesIn(attribute), mesh, "has ");
  });
  walker.walk(attributes);
  return count;
}

DeviceCount tenon::countDevices(ModuleOp module) {
  DeviceCount count;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (DeviceCount named = devicesNamedBy(op); named.devices > count.devices)
      count = std::move(named);
  });
  return count;
}
