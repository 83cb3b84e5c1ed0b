//===- InitialValues.cpp - The entry point `init` ------------------------===//
//
// See InitialValues.h.
//
//===----------------------------------------------------------------------===//

#include "InitialValues.h"

#include "PlanRecord.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/HiddenState.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

class InitWriter {
public:
  InitWriter(OpBuilder &builder, func::FuncOp main)
      : builder(builder), main(main) {}

  /// One state's kernel, its buffer and its value.
  void fill(BlockArgument state, SplatElementsAttr initial,
            function_ref<StringRef(step::GroupOp)> kernelFor) {
    Location loc = state.getLoc();
    unsigned index = state.getArgNumber();
    auto place = cast<step::PlaceAttr>(
        main->getAttrOfType<ArrayAttr>(step::argumentPlacesAttrName)[index]);
    step::GroupOp group = constantGroup(loc, initial);
    StringRef kernel = kernelFor(group);
    auto type = cast<RankedTensorType>(state.getType());
    Value slice = exec::SliceOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
        FlatSymbolRefAttr::get(builder.getContext(),
                               step::stringifySegment(place.getSegment())),
        builder.getI64IntegerAttr(place.getOffset()));
    auto invoke = exec::InvokeOp::create(builder, loc, kernel, slice,
                                         /*parts=*/uint64_t(1),
                                         /*queue=*/uint64_t(0));
    group.erase();
    auto number = int64_t(values.size());
    int64_t bytes = storedBytes(type), source = int64_t(texts.size()) + 1;
    texts.push_back(builder.getStringAttr(typeText(type)));
    texts.push_back(builder.getStringAttr(
        "initial value of " +
        main.getArgAttrOfType<StringAttr>(index, step::nameAttrName)
            .getValue()));
    buffers.push_back(
        numbers({int64_t(place.getSegment()), place.getOffset(), bytes}));
    values.push_back(
        numbers({number, bytes, source - 1, source, /*recomputed=*/0, -1}));
    invoke->setAttr(
        exec::plannedAttrName,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("at", numbers({number, number, source})),
             builder.getNamedAttr("reads", numbers({PlanRecord::none})),
             builder.getNamedAttr("writes", numbers({number}))}));
  }

  void writePlan(exec::ProgramOp program) {
    auto results = llvm::to_vector(llvm::seq(int64_t(values.size())));
    program->setAttr(
        exec::planAttrName,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("buffers", builder.getArrayAttr(buffers)),
             builder.getNamedAttr("values", builder.getArrayAttr(values)),
             builder.getNamedAttr("texts", builder.getArrayAttr(texts)),
             builder.getNamedAttr("initial", numbers({})),
             builder.getNamedAttr("results", numbers(results))}));
    program->setAttr(exec::regionEndsAttrName,
                     builder.getArrayAttr({numbers({})}));
  }

private:
  Attribute numbers(ArrayRef<int64_t> list) {
    return builder.getDenseI64ArrayAttr(list);
  }

  step::GroupOp constantGroup(Location loc, SplatElementsAttr value) {
    OpBuilder::InsertionGuard guard(builder);
    auto group =
        step::GroupOp::create(builder, loc, TypeRange(value.getType()),
                              ValueRange(), step::GroupKind::elementwise);
    builder.createBlock(&group.getBody());
    Value constant = stablehlo::ConstantOp::create(builder, loc, value);
    step::YieldOp::create(builder, loc, constant);
    return group;
  }

  OpBuilder &builder;
  func::FuncOp main;
  SmallVector<Attribute> buffers, values, texts;
};

} // namespace

void memory::writeInit(OpBuilder &builder, func::FuncOp main,
                       function_ref<StringRef(step::GroupOp)> kernelFor) {
  exec::ProgramOp program;
  InitWriter writer(builder, main);
  OpBuilder::InsertionGuard guard(builder);
  for (BlockArgument argument : main.getArguments()) {
    SplatElementsAttr initial =
        step::initialValueOf(main.getArgAttrDict(argument.getArgNumber()));
    if (!initial)
      continue;
    if (!program) {
      program = exec::ProgramOp::create(builder, main.getLoc(), "init");
      builder.createBlock(&program.getBody());
    }
    writer.fill(argument, initial, kernelFor);
  }
  if (program)
    writer.writePlan(program);
}
