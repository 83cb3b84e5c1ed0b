//===- ReduceTreeTest.cpp - One order for any number of lanes -------------===//
//
// The order of a reduction does not depend on how many points a value stands
// for: a target of one lane gets the bits that one of 16 lanes gets.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/ReduceTree.h"

#include "EmptyKernel.h"
#include "EmittedKernel.h"

#include "tenon/Codegen/CPU/CompileObjects.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Codegen/Loops/KernelSource.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

namespace {

constexpr int64_t count = 112; // 7 chunks for 4 accumulators

/// A target about which nothing is known but its lanes.
struct AnyTarget final : Instructions {
  explicit AnyTarget(int64_t lanes) { this->lanes = lanes; }
};

/// Computes the reduction of `source`, all of it written out.
void emitReduction(LoopNest &nest, const KernelSource &source,
                   ArrayRef<Value> memory) {
  auto reduce = cast<stablehlo::ReduceOp>(source.results()[0].getDefiningOp());
  Combiner combiner(reduce);
  Type f32 = nest.builder.getF32Type();
  nest.points.bind(source.body->getArgument(0), {memory[0], {count}, f32});
  int64_t lanes = nest.instructions.lanes, pieces = reductionChunk / lanes;
  int64_t accumulators = reductionAccumulators(count);
  Value start = nest.points.asVector(Element{combiner.start(nest).front(), 0});
  SmallVector<Value> sums(accumulators * pieces, start);
  for (int64_t first = 0; first < count; first += lanes) {
    IndexExpression place =
        lanes == 1 ? IndexExpression(first)
                   : nest.algebra.laneVariable(nest.constantIndex(first),
                                               {first, first + lanes - 1}, 0,
                                               first ? first : lanes);
    Value element = nest.points.asVector(
        nest.points.at(reduce.getInputs().front(), {place}));
    int64_t chunk = first / reductionChunk;
    Value &sum =
        sums[chunk % accumulators * pieces + first % reductionChunk / lanes];
    sum = combiner.combine(nest, {sum}, {element}).front();
  }
  Value sum = combiner.finish(nest, {combiner.collapse(nest, sums)}).front();
  nest.points.store({memory[1], {}, f32}, 0, {sum, 0});
}

/// The sum of `x`, which starts at 0.5, by a target of that many lanes.
float sumOf(Array<float> &x, int64_t lanes) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, stablehlo::StableHLODialect,
                      memref::MemRefDialect, vector::VectorDialect>();
  prepareContext(context);
  auto parsed = parseSourceString<ModuleOp>(
      R"(func.func private @kernel(%x: tensor<112xf32>) -> tensor<f32> {
        %i = stablehlo.constant dense<0.5> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<112xf32>, tensor<f32>) -> tensor<f32>
        return %0 : tensor<f32>
      })",
      &context);
  KernelSource source(parsed->lookupSymbol<func::FuncOp>("kernel"));
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder(&context);
  auto memory = [&](int64_t size) {
    return MemRefType::get({size}, builder.getF32Type());
  };
  KernelFunction kernel =
      createKernelFunction(builder, *module, "sum", {memory(count), memory(1)});
  AnyTarget target(lanes);
  LoopNest nest(&kernel.function.front(), source.loc, target);
  emitReduction(nest, source, kernel.arguments);
  auto object = compileToObject(*module, {*target::hostIsa()});
  EXPECT_TRUE(succeeded(object));
  LoadedKernels loaded({*object});
  Array<float> sum(1);
  void *arguments[] = {x.data(), sum.data()};
  loaded.find("sum")(arguments, 0, 1);
  return sum[0];
}

TEST(ReduceTree, DoesNotDependOnTheLanes) {
  Array<float> x = someNumbers(count);
  float places[16];
  for (int i = 0; i < 16; ++i) {
    float sums[4] = {};
    for (int chunk = 0; chunk < count / 16; ++chunk)
      sums[chunk % 4] += x[16 * chunk + i];
    places[i] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i)
      places[i] += places[i + half];
  for (int64_t lanes : {1, 2, 4, 8, 16})
    EXPECT_EQ(sumOf(x, lanes), 0.5f + places[0]) << lanes << " lanes";
}

} // namespace
