//===- CheckFolding.cpp - Do ranks compute what their devices do? ---------===//
//
// See CheckFolding.h. Both programs are gone through once, for all devices and
// all ranks side by side, since they meet in collectives. Here are arguments,
// results and the pass; each kind of operation has a file.
//
//===----------------------------------------------------------------------===//

#include "FoldingChecker.h"

#include "tenon/Dialect/Step/Parts.h"

#include "mlir/Parser/Parser.h"

namespace tenon::shardingcheck {
#define GEN_PASS_DEF_CHECKFOLDINGPASS
#include "tenon/ShardingCheck/Passes.h.inc"
} // namespace tenon::shardingcheck

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;
using namespace tenon::shardingcheck::folding;
using sharding::Layout;
using sharding::Mesh;

std::optional<PartitionFault> FoldingChecker::run() {
  Block &body = devices.main.getBody().front();
  if (!readArguments(devices) || !readArguments(ranks) ||
      !visitBlock(devices, body, nullptr) ||
      !visitBlock(ranks, ranks.main.getBody().front(), &body) ||
      !checkResults())
    return fault;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

std::optional<Layout> FoldingChecker::layoutOf(DictionaryAttr attributes) {
  auto text = attributes ? attributes.getAs<StringAttr>(step::layoutAttrName)
                         : StringAttr();
  std::string error;
  return text ? Layout::parse(text.getValue(), devices.mesh, error)
              : std::nullopt;
}

/// The layouts are those of the devices: the ranks have the axes that they
/// have.
bool FoldingChecker::readArguments(Program &program) {
  if (program.main.getNumArguments() != devices.main.getNumArguments() ||
      program.main.getNumResults() != devices.main.getNumResults())
    return fail(program.main.getLoc(),
                "ranks and devices have other arguments or results");
  for (BlockArgument argument : program.main.getArguments()) {
    const unsigned at = argument.getArgNumber();
    auto layout = layoutOf(devices.main.getArgAttrDict(at));
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto wrong = [&] {
      return fail(program.main.getLoc(),
                  "argument " + Twine(at) + " is no part of a tensor");
    };
    if (!layout || !type || int64_t(layout->dims.size()) != type.getRank())
      return wrong();
    if (program.isOfRanks && program.members() > 1 &&
        program.main.getArgAttr(at, step::layoutAttrName) !=
            devices.main.getArgAttr(at, step::layoutAttrName))
      return wrong();
    // A rank has as many parts of an axis as it has devices.
    SmallVector<int64_t> shape(type.getShape());
    std::vector<sharding::AxisParts> cuts = layout->dims;
    for (auto [parts, extent] : llvm::zip_equal(cuts, shape)) {
      for (sharding::AxisPart &part : parts)
        if (part.axis == axis) {
          if (part.size != devices.mesh.axes[axis].size)
            return wrong();
          part.size = program.mesh.axes[axis].size;
        }
      extent *= sharding::countOf(parts);
    }
    const Term whole = terms.computed({argumentKey, at}, type.clone(shape));
    PerMember held;
    for (size_t member = 0; member < program.members(); ++member) {
      SmallVector<int64_t> first;
      for (auto [parts, extent] : llvm::zip_equal(cuts, type.getShape()))
        first.push_back(program.mesh.indexAlong(int64_t(member), parts) *
                        extent);
      held.push_back(terms.sliced(whole, first, type.getShape()));
    }
    program.terms[argument] = std::move(held);
  }
  return true;
}

bool FoldingChecker::checkResults() {
  Operation *end = ranks.main.getBody().front().getTerminator();
  Operation *devicesEnd = devices.main.getBody().front().getTerminator();
  const sharding::AxisPart along{axis, 1, devices.mesh.axes[axis].size};
  const int64_t count = ranks.mesh.axes[axis].size;
  for (unsigned at = 0; at < end->getNumOperands(); ++at) {
    PerMember found = of(ranks, end->getOperand(at));
    PerMember held = of(devices, devicesEnd->getOperand(at));
    auto layout = layoutOf(devices.main.getResultAttrDict(at));
    auto wrong = [&] {
      return fail(end->getOperand(at).getLoc(),
                  "result " + Twine(at) +
                      " of a rank is not that of its devices");
    };
    if (!layout || (ranks.members() > 1 &&
                    ranks.main.getResultAttr(at, step::layoutAttrName) !=
                        devices.main.getResultAttr(at, step::layoutAttrName)))
      return wrong();
    std::optional<int64_t> cut;
    for (auto [dim, parts] : llvm::enumerate(layout->dims))
      if (!parts.empty() && parts.back() == along)
        cut = dim;
    if (!cut && layout->uses(along))
      return wrong();
    // By rank, in the order of the devices along the axis.
    std::vector<PerMember> expected(ranks.members());
    const int64_t stride = devices.mesh.stride(along);
    for (int64_t device = 0; device < devices.mesh.devices(); ++device) {
      const int64_t place = devices.mesh.coordinate(device, along);
      const int64_t before = device / (stride * along.size);
      const int64_t rank =
          (before * count + place / (along.size / count)) * stride +
          device % stride;
      expected[size_t(rank)].push_back(held[size_t(device)]);
    }
    for (auto [parts, term] : llvm::zip_equal(expected, found))
      if (cut ? terms.joined(parts, *cut) != term
              : !areEqual(parts) || parts.front() != term)
        return wrong();
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class CheckFolding
    : public tenon::shardingcheck::impl::CheckFoldingPassBase<CheckFolding> {
public:
  using CheckFoldingPassBase::CheckFoldingPassBase;

  void runOnOperation() override {
    if (devices.empty()) {
      getOperation().emitError("give the step of the devices, as in "
                               "--check-folding=devices=parts.mlir");
      return signalPassFailure();
    }
    auto step = parseSourceFile<ModuleOp>(devices, &getContext());
    if (!step)
      return signalPassFailure();
    if (auto fault = checkFolding(*step, getOperation(), axis)) {
      emitError(fault->location) << fault->message;
      return signalPassFailure();
    }
  }
};

} // namespace

std::optional<PartitionFault>
tenon::shardingcheck::checkFolding(ModuleOp devices, ModuleOp ranks,
                                   StringRef axis) {
  auto fail = [](Operation *op, const Twine &message) {
    return PartitionFault{op->getLoc(), message.str()};
  };
  auto read = [](ModuleOp module, Program &program) {
    program.main = module.lookupSymbol<func::FuncOp>("main");
    std::string ignored;
    auto mesh = Mesh::of(module, step::meshAttrName, ignored);
    if (mesh)
      program.mesh = *mesh;
    return program.main && !program.main.isExternal();
  };
  Program many, few;
  if (!read(devices, many) || many.mesh.axes.empty())
    return fail(devices, "there is no partitioned step of the devices");
  if (!read(ranks, few))
    return fail(ranks, "there is no step of the ranks");
  auto along = many.mesh.find(axis);
  if (!along)
    return fail(devices, "the mesh has no axis '" + axis + "'");
  // One rank in all has no mesh.
  Mesh expected = many.mesh;
  auto sizeOf = [&](const Mesh &mesh) { return mesh.axes[*along].size; };
  if (few.mesh.axes.empty())
    for (sharding::Axis &each : few.mesh.axes = expected.axes)
      each.size = 1;
  if (few.mesh.axes.size() == expected.axes.size())
    expected.axes[*along].size = sizeOf(few.mesh);
  if (few.mesh.text() != expected.text() ||
      sizeOf(many.mesh) % sizeOf(few.mesh) != 0)
    return fail(ranks, "the mesh " + few.mesh.text() +
                           " does not run the devices of " + many.mesh.text() +
                           " along '" + axis + "'");
  few.isOfRanks = true;
  return FoldingChecker(std::move(many), std::move(few), *along).run();
}
