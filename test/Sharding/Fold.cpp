//===- Fold.cpp - Several devices on one rank, simulated ------------------===//
//
// See Fold.h.
//
//===----------------------------------------------------------------------===//

#include "Fold.h"

#include "Mutate.h"

#include "tenon/Collectives/Passes.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Sharding/FoldDevices.h"
#include "tenon/ShardingCheck/CheckFolding.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <bit>

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;
using reference::Tensor;
using reference::Tensors;

namespace {

/// A step of so many ranks along the first axis.
struct Folded {
  OwningOpRef<ModuleOp> module;
  Mesh mesh;
};

/// What the ranks return; nothing if they do not end.
std::optional<std::vector<Tensors>> run(ModuleOp module, const Mesh &mesh,
                                        ArrayRef<Tensor> arguments,
                                        int64_t mostOperations) {
  OwningOpRef<ModuleOp> copy(module.clone());
  PassManager passes(module.getContext());
  passes.addNestedPass<func::FuncOp>(
      collectives::createExpandPass({.onlyTrees = true}));
  if (failed(passes.run(*copy)))
    return std::nullopt;
  auto main = copy->lookupSymbol<func::FuncOp>("main");
  std::vector<Tensors> given(size_t(mesh.devices()));
  std::string error;
  for (auto [device, list] : llvm::enumerate(given))
    for (auto [at, whole] : llvm::enumerate(arguments)) {
      auto text = main.getArgAttrOfType<StringAttr>(at, step::layoutAttrName);
      list.push_back(text ? shardOf(whole, *Layout::parse(text, mesh, error),
                                    mesh, int64_t(device))
                          : whole);
    }
  auto returned = reference::runOnDevices(main, given, Subnormals::keep,
                                          {.operations = mostOperations});
  return failed(returned) ? std::nullopt : std::optional(std::move(*returned));
}

bool haveSameBits(const Tensor &a, const Tensor &b) {
  return llvm::all_of(llvm::zip_equal(a.elements, b.elements), [](auto pair) {
    auto &[x, y] = pair;
    return x.integer == y.integer && (std::bit_cast<uint64_t>(x.real) ==
                                          std::bit_cast<uint64_t>(y.real) ||
                                      (x.real != x.real && y.real != y.real));
  });
}

bool haveSameBits(ArrayRef<Tensors> a, ArrayRef<Tensors> b) {
  for (auto [ofA, ofB] : llvm::zip_equal(a, b))
    for (auto [x, y] : llvm::zip_equal(ofA, ofB))
      if (x.type != y.type || !haveSameBits(x, y))
        return false;
  return true;
}

/// The whole results, by what the ranks have of them.
Tensors wholeResults(ModuleOp module, const Mesh &mesh,
                     ArrayRef<Tensors> returned, ArrayRef<Tensor> like) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Tensors all;
  std::string error;
  for (auto [at, whole] : llvm::enumerate(like)) {
    auto text = main.getResultAttrOfType<StringAttr>(at, step::layoutAttrName);
    if (!text) {
      all.push_back(returned[0][at]);
      continue;
    }
    all.push_back(
        wholeOf(returned, at, whole, *Layout::parse(text, mesh, error), mesh));
  }
  return all;
}

} // namespace

std::string tenon::sharding::foldAndCompare(
    ModuleOp parts, const Mesh &mesh, ArrayRef<Tensor> arguments,
    ArrayRef<Tensor> expected, int64_t errors, int64_t mostOperations,
    random::Random &random, FoldCounts &counts) {
  const std::string axis = mesh.axes[0].name;
  std::vector<Folded> all;
  for (int64_t ranks = 1; ranks <= mesh.axes[0].size; ranks *= 2) {
    Folded folded{OwningOpRef<ModuleOp>(parts.clone()), mesh};
    folded.mesh.axes[0].size = ranks;
    if (failed(foldDevices(*folded.module, axis, ranks))) {
      ++counts.refused; // for every number of ranks
      return all.empty() ? "" : "only some numbers of ranks are refused";
    }
    if (failed(verify(*folded.module)))
      return "does not verify for " + std::to_string(ranks) + " ranks";
    if (auto fault = shardingcheck::checkFolding(parts, *folded.module, axis))
      return "for " + std::to_string(ranks) +
             " ranks it is refused: " + fault->message;
    all.push_back(std::move(folded));
  }
  ++counts.programs;
  std::vector<std::vector<Tensors>> returned;
  std::optional<Tensors> first;
  for (Folded &folded : all) {
    auto results = run(*folded.module, folded.mesh, arguments, mostOperations);
    if (!results)
      return "does not run on " + folded.mesh.text();
    Tensors whole =
        wholeResults(*folded.module, folded.mesh, *results, expected);
    if (!first)
      first = whole;
    for (auto [at, tensor] : llvm::enumerate(whole))
      if (!haveSameBits(tensor, (*first)[at]))
        return "result " + std::to_string(at) + " has other bits on " +
               folded.mesh.text();
    double farthest = 0;
    if (folded.mesh.devices() > 1)
      if (std::string wrong = differenceOf(
              folded.module->lookupSymbol<func::FuncOp>("main"), folded.mesh,
              arguments, expected, farthest, mostOperations);
          !wrong.empty())
        return "on " + folded.mesh.text() + ": " + wrong;
    returned.push_back(std::move(*results));
  }
  for (int64_t tries = 0; tries < errors; ++tries) {
    const auto pick = size_t(random.below(int64_t(all.size())));
    Folded &folded = all[pick];
    OwningOpRef<ModuleOp> mutant(folded.module->clone());
    std::string what = mutate(*mutant, folded.mesh.devices(), random);
    if (what.empty() || failed(verify(*mutant)))
      continue;
    auto results = run(*mutant, folded.mesh, arguments, mostOperations);
    auto fault = shardingcheck::checkFolding(parts, *mutant, axis);
    if (results && haveSameBits(*results, returned[pick])) {
      ++counts.unchanged;
      counts.unchangedRefused += fault.has_value();
      continue;
    }
    ++counts.changed;
    if (fault)
      continue;
    folded.module->print(llvm::outs());
    mutant->print(llvm::outs());
    return "accepted, but wrong: " + what + " on " + folded.mesh.text();
  }
  return "";
}
