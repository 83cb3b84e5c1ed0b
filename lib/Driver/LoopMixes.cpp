//===- LoopMixes.cpp - Different choices for the pairs of a step ----------===//
//
// See LoopMixes.h.
//
//===----------------------------------------------------------------------===//

#include "LoopMixes.h"

#include "tenon/Analysis/OperationCount.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

/// Of how many mixtures of the first pairs the rest is looked for.
static constexpr size_t mostMixes = 256;

/// The pair that an operation of a loop belongs to, or -1.
static int64_t pairOf(Operation *op) {
  while ((op = op->getParentOp()))
    if (auto pair = op->getAttrOfType<IntegerAttr>(step::loopPairAttrName))
      return pair.getInt();
  return -1;
}

LoopRows driver::loopRowsOf(ModuleOp grouped, fusion::LoopChoice choice) {
  LoopRows result{choice, {}};
  auto main = grouped.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return result;
  for (StringRef name :
       {step::loopSavingsAttrName, step::segmentSavingsAttrName}) {
    auto savings = main->getAttrOfType<DenseI64ArrayAttr>(name);
    if (!savings)
      continue;
    result.rows.resize(std::max<size_t>(result.rows.size(), savings.size()));
    for (auto [saved, row] : llvm::zip_first(savings.asArrayRef(), result.rows))
      row.savedBytes += saved;
  }
  for (auto [pair, row] : llvm::enumerate(result.rows))
    row.nanoseconds =
        std::llround(sumOverRuns(main.getBody(), [&](Operation *op) {
          auto time = op->getAttrOfType<IntegerAttr>(step::nanosecondsAttrName);
          return time && pairOf(op) == int64_t(pair) ? double(time.getInt())
                                                     : 0.0;
        }));
  return result;
}

/// Leaves those that no other one beats, by rising savings.
static void dropBeaten(std::vector<LoopMix> &mixes) {
  std::map<std::pair<int64_t, int64_t>, LoopMix> sorted; // the first of equals
  for (LoopMix &mix : mixes)
    sorted.insert({{-mix.predicted.savedBytes, mix.predicted.nanoseconds},
                   std::move(mix)});
  std::vector<LoopMix> best;
  for (auto &[figures, mix] : sorted)
    if (best.empty() ||
        mix.predicted.nanoseconds < best.back().predicted.nanoseconds)
      best.push_back(std::move(mix));
  std::reverse(best.begin(), best.end());
  if (best.size() > mostMixes) {
    for (size_t index = 0; index < mostMixes; ++index)
      std::swap(best[index], best[index * best.size() / mostMixes]);
    best.resize(mostMixes);
  }
  mixes = std::move(best);
}

std::vector<LoopMix> driver::mixesOf(ArrayRef<LoopRows> tables) {
  std::vector<LoopMix> mixes;
  const size_t pairs = tables.empty() ? 0 : tables.front().rows.size();
  // A pair that another one's choice makes or breaks cannot be told.
  if (pairs < 2 ||
      llvm::any_of(
          tables,
          [&](const LoopRows &table) { return table.rows.size() != pairs; }))
    return mixes;
  mixes.emplace_back();
  for (size_t pair = 0; pair < pairs; ++pair) {
    const LoopFigures &base = tables.front().rows[pair];
    std::vector<LoopMix> longer;
    for (const LoopMix &mix : mixes)
      for (const LoopRows &table : tables) {
        LoopMix &added = longer.emplace_back(mix);
        added.choices.push_back(table.choice);
        added.predicted += table.rows[pair] - base;
      }
    mixes = std::move(longer);
    dropBeaten(mixes);
  }
  // Those are there already.
  std::erase_if(
      mixes, [](const LoopMix &mix) { return llvm::all_equal(mix.choices); });
  return mixes;
}
