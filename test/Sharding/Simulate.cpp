//===- Simulate.cpp - Partitioned steps against whole ones ----------------===//
//
// See Simulate.h.
//
//===----------------------------------------------------------------------===//

#include "Simulate.h"

#include "../Random/Random.h"

#include "tenon/Collectives/Passes.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/ShardingCheck/CheckPartition.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;
using reference::Element;
using reference::Index;
using reference::Tensor;
using reference::Tensors;

namespace {

/// A result may differ by this much of the largest element of its tensor: sums
/// are added up in another order.
constexpr double tolerance = 2e-5;

Element poison(Type type, uint64_t bits) {
  return reference::isFloat(type)
             ? reference::realElement(std::nan(""), type)
             : reference::integerElement(type.isInteger(1)
                                             ? int64_t(bits & 1)
                                             : int64_t(bits % 100000) - 50000,
                                         type);
}

/// Calls `visit` with every index of a device's part and that in the whole;
/// nothing for a tail.
template <typename Visit>
void forEachElement(ArrayRef<int64_t> whole, const Layout &layout,
                    const Mesh &mesh, int64_t device, Visit visit) {
  SmallVector<int64_t> local = layout.localShape(whole);
  if (llvm::is_contained(local, 0))
    return;
  Index index(local.size(), 0);
  do {
    Index at(index);
    bool isElement = true;
    for (size_t dim = 0; dim < at.size(); ++dim) {
      at[dim] += mesh.indexAlong(device, layout.dims[dim]) * local[dim];
      isElement &= at[dim] < whole[dim];
    }
    visit(index, isElement ? std::optional(at) : std::nullopt);
  } while (reference::next(index, local));
}

std::string describe(const Index &index) {
  std::string text = "[";
  for (int64_t at : index)
    text += (text.size() > 1 ? ", " : "") + std::to_string(at);
  return text + "]";
}

bool isSame(const Element &a, const Element &b, Type type) {
  if (!reference::isFloat(type))
    return a.integer == b.integer;
  return (std::isnan(a.real) && std::isnan(b.real)) || a.real == b.real;
}

} // namespace

Tensors tenon::sharding::makeInputs(func::FuncOp main, const Inputs &inputs) {
  random::Random random(inputs.seed);
  Tensors made;
  for (unsigned at = 0; at < main.getNumArguments(); ++at) {
    Tensor tensor(cast<RankedTensorType>(main.getArgument(at).getType()));
    auto role = main.getArgAttrOfType<step::RoleAttr>(at, step::roleAttrName);
    bool isPositive = role && role.getValue() == step::Role::optimizer_state;
    Type type = tensor.elementType();
    for (Element &element : tensor.elements) {
      double share = double(random.bits() >> 11) * 0x1p-53;
      if (reference::isFloat(type))
        element = reference::realElement(
            isPositive ? 0.01 + 0.1 * share : share - 0.5, type);
      else
        element = reference::integerElement(
            type.isInteger(1)
                ? random.below(2)
                : random.between(inputs.leastInteger, inputs.mostInteger),
            type);
    }
    made.push_back(std::move(tensor));
  }
  return made;
}

Tensor tenon::sharding::shardOf(const Tensor &whole, const Layout &layout,
                                const Mesh &mesh, int64_t device) {
  random::Random random(device);
  Tensor part(whole.type.clone(layout.localShape(whole.shape())));
  forEachElement(whole.shape(), layout, mesh, device,
                 [&](const Index &local, std::optional<Index> at) {
                   part.at(local) =
                       at ? whole.at(*at)
                          : poison(whole.elementType(), random.bits());
                 });
  return part;
}

Tensor tenon::sharding::wholeOf(ArrayRef<Tensors> returned, size_t result,
                                const Tensor &like, const Layout &layout,
                                const Mesh &mesh) {
  Tensor whole(like);
  for (auto [device, results] : llvm::enumerate(returned))
    forEachElement(like.shape(), layout, mesh, device,
                   [&](const Index &local, std::optional<Index> at) {
                     if (at)
                       whole.at(*at) = results[result].at(local);
                   });
  return whole;
}

std::string tenon::sharding::differenceOf(func::FuncOp main, const Mesh &mesh,
                                          ArrayRef<Tensor> arguments,
                                          ArrayRef<Tensor> expected,
                                          double &farthest,
                                          int64_t mostOperations) {
  std::string error;
  auto layoutOf = [&](Attribute text) {
    return *Layout::parse(cast<StringAttr>(text).getValue(), mesh, error);
  };
  std::vector<Tensors> given(mesh.devices());
  for (auto [device, list] : llvm::enumerate(given))
    for (auto [at, whole] : llvm::enumerate(arguments))
      list.push_back(
          shardOf(whole, layoutOf(main.getArgAttr(at, step::layoutAttrName)),
                  mesh, device));
  auto returned = reference::runOnDevices(main, given, Subnormals::keep,
                                          {.operations = mostOperations});
  if (failed(returned))
    return "does not run";
  for (auto [at, whole] : llvm::enumerate(expected)) {
    Layout layout = layoutOf(main.getResultAttr(at, step::layoutAttrName));
    Type type = whole.elementType();
    double largest = 0;
    for (const Element &element : whole.elements)
      if (std::isfinite(element.real))
        largest = std::max(largest, std::abs(element.real));
    std::vector<std::optional<Element>> first(whole.size());
    std::string wrong;
    for (auto [device, results] : llvm::enumerate(*returned)) {
      const Tensor &part = results[at];
      forEachElement(
          whole.shape(), layout, mesh, device,
          [&](const Index &local, std::optional<Index> index) {
            if (!index || !wrong.empty())
              return;
            const Element &found = part.at(local), &right = whole.at(*index);
            auto &known = first[whole.offsetOf(*index)];
            auto where = [&] {
              return "result " + std::to_string(at) + " at " +
                     describe(*index) + " on device " + std::to_string(device);
            };
            if (known && !isSame(*known, found, type))
              wrong = where() + " differs from another device's";
            known = found;
            if (isSame(found, right, type))
              return;
            double apart = std::abs(found.real - right.real) / largest;
            if (!reference::isFloat(type) || !(apart <= tolerance))
              wrong = where() + " is " +
                      llvm::formatv("{0}", found.real).str() + " or " +
                      std::to_string(found.integer) + ", expected " +
                      llvm::formatv("{0}", right.real).str() + " or " +
                      std::to_string(right.integer);
            else
              farthest = std::max(farthest, apart);
          });
    }
    for (auto [index, known] : llvm::enumerate(first))
      if (!known && wrong.empty())
        wrong = "no device has element " + std::to_string(index) +
                " of result " + std::to_string(at);
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

std::string tenon::sharding::schedule(ModuleOp whole, ModuleOp parts,
                                      Behind behind) {
  using Added = std::function<void(OpPassManager &)>;
  std::vector<std::pair<std::string, Added>> passes;
  if (behind != Behind::none) {
    passes.push_back({"merge-equal", [](OpPassManager &functions) {
                        functions.addPass(collectives::createMergeEqualPass());
                      }});
    passes.push_back({"reduce-once", [](OpPassManager &functions) {
                        functions.addPass(collectives::createReduceOncePass());
                      }});
    passes.push_back({"bucket-sums", [](OpPassManager &functions) {
                        functions.addPass(collectives::createBucketSumsPass(
                            {/*bytes=*/1 << 20}));
                      }});
  }
  if (behind == Behind::expanded)
    passes.push_back({"expand", [](OpPassManager &functions) {
                        functions.addPass(collectives::createExpandPass());
                      }});
  for (auto &[name, add] : passes) {
    PassManager manager(parts.getContext());
    add(manager.nest<func::FuncOp>());
    if (failed(manager.run(parts)))
      return name + " fails";
    if (auto fault = shardingcheck::checkPartition(whole, parts,
                                                   /*withConstraints=*/false))
      return "behind " + name + ": " + fault->message;
  }
  return "";
}

Comparison tenon::sharding::compare(ModuleOp module, const Mesh &mesh,
                                    const AskedLayouts &asked,
                                    ArrayRef<Tensor> arguments,
                                    ArrayRef<Tensor> expected, Behind behind) {
  Comparison comparison;
  OwningOpRef<ModuleOp> copy(module.clone());
  if (failed(partition(*copy, mesh, asked))) {
    comparison.failure = "is not partitioned";
    return comparison;
  }
  auto main = copy->lookupSymbol<func::FuncOp>("main");
  auto fail = [&](const std::string &why) {
    llvm::raw_string_ostream out(comparison.failure);
    out << why << "\n";
    main.print(out);
    return comparison;
  };
  if (failed(verify(*copy)))
    return fail("does not verify");
  if (auto fault = shardingcheck::checkPartition(module, *copy))
    return fail("is refused by the checker: " + fault->message);
  if (std::string wrong = schedule(module, *copy, behind); !wrong.empty())
    return fail("is refused by the checker " + wrong);
  main.walk([&](Operation *op) {
    StringRef name = op->getName().stripDialect();
    if (name.starts_with("all_") || name == "reduce_scatter" ||
        name == "collective_permute")
      ++comparison.collectives[name.str()];
  });
  if (std::string wrong =
          differenceOf(main, mesh, arguments, expected, comparison.farthest);
      !wrong.empty())
    return fail(wrong);
  return comparison;
}

std::vector<Layout> tenon::sharding::allLayouts(const Mesh &mesh,
                                                int64_t rank) {
  std::vector<Layout> layouts{Layout::replicated(rank)};
  auto place = [&](AxisPart part) {
    std::vector<Layout> more = layouts;
    for (const Layout &layout : layouts)
      for (int64_t dim = 0; dim < rank; ++dim)
        for (size_t at = 0; at <= layout.dims[dim].size(); ++at) {
          Layout cut = layout;
          cut.dims[dim].insert(cut.dims[dim].begin() + at, part);
          more.push_back(cut);
        }
    layouts = std::move(more);
  };
  for (auto [axis, size] : llvm::enumerate(mesh.axes))
    if (size.size == 4) {
      place({unsigned(axis), 1, 2});
      place({unsigned(axis), 2, 2});
    } else {
      place({unsigned(axis), 1, size.size});
    }
  for (Layout &layout : layouts)
    for (AxisParts &parts : layout.dims)
      parts = joined(parts);
  return layouts;
}
