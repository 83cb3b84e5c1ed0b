//===- SeparateExpectations.cpp - What a program expects, beside it -------===//
//
// Compiled code compares nothing: the values a self-checking program compares
// become results of @main, and whoever runs it compares them.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Expectations.h"
#include "tenon/Import/Passes.h"

#include "tenon/Dialect/Check/Check.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Builders.h"

namespace tenon::importer {
#define GEN_PASS_DEF_SEPARATEEXPECTATIONSPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon;
using namespace tenon::importer;

static constexpr llvm::StringLiteral expectationsAttrName = "step.expectations";

namespace {

struct SeparateExpectations
    : public tenon::importer::impl::SeparateExpectationsPassBase<
          SeparateExpectations> {
  using SeparateExpectationsPassBase::SeparateExpectationsPassBase;

  void runOnOperation() override {
    // What the text itself says is not ours.
    getOperation()->removeAttr(expectationsAttrName);
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal())
      return;
    SmallVector<check::Expectation> expectations;
    main.walk([&](Operation *op) {
      if (auto expectation = check::expectationOf(op))
        expectations.push_back(*expectation);
    });
    if (expectations.empty())
      return;
    Operation *end = main.getBody().front().getTerminator();
    Builder builder(&getContext());
    SmallVector<Attribute> entries;
    for (const check::Expectation &expectation : expectations) {
      if (expectation.op->getBlock() != &main.getBody().front()) {
        expectation.op->emitError("expectations in regions are understood by "
                                  "the reference interpreter only");
        return signalPassFailure();
      }
      entries.push_back(separate(expectation, end));
      expectation.op->erase();
    }
    main.setType(builder.getFunctionType(main.getArgumentTypes(),
                                         end->getOperandTypes()));
    if (ArrayAttr attributes = main.getAllResultAttrs()) {
      SmallVector<Attribute> padded(attributes.begin(), attributes.end());
      padded.resize(end->getNumOperands(), builder.getDictionaryAttr({}));
      main.setAllResultAttrs(builder.getArrayAttr(padded));
    }
    getOperation()->setAttr(expectationsAttrName,
                            builder.getArrayAttr(entries));
  }

private:
  /// Returns both values at the end; where they are, and what is expected.
  Attribute separate(const check::Expectation &expectation, Operation *end) {
    OpBuilder builder(expectation.op);
    Value expected = expectation.expected;
    if (!expected)
      expected = stablehlo::ConstantOp::create(
          builder, expectation.op->getLoc(), expectation.constant);
    auto result = [&](Value value) {
      end->insertOperands(end->getNumOperands(), value);
      return builder.getI64IntegerAttr(end->getNumOperands() - 1);
    };
    auto number = [&](uint64_t value) {
      return builder.getI64IntegerAttr(int64_t(value));
    };
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("found", result(expectation.found)),
         builder.getNamedAttr("expected", result(expected)),
         builder.getNamedAttr("closeness",
                              number(uint64_t(expectation.closeness))),
         builder.getNamedAttr("tolerance",
                              builder.getF64FloatAttr(expectation.tolerance)),
         builder.getNamedAttr("max_units", number(expectation.maxUnits)),
         builder.getNamedAttr("min_units", number(expectation.minUnits)),
         builder.getNamedAttr("location",
                              LocationAttr(expectation.op->getLoc()))});
  }
};

} // namespace

static std::string textOf(Location location) {
  // Of an inlined expectation, where it is written.
  while (auto site = dyn_cast<CallSiteLoc>(location))
    location = site.getCallee();
  while (auto name = dyn_cast<NameLoc>(location))
    location = name.getChildLoc();
  std::string text;
  if (auto file = dyn_cast<FileLineColLoc>(location))
    text = file.getFilename().str() + ":" + std::to_string(file.getLine()) +
           ":" + std::to_string(file.getColumn());
  return text;
}

std::vector<SeparatedExpectation>
tenon::importer::takeExpectations(ModuleOp module) {
  std::vector<SeparatedExpectation> result;
  auto entries = module->getAttrOfType<ArrayAttr>(expectationsAttrName);
  if (!entries)
    return result;
  for (auto entry : entries.getAsRange<DictionaryAttr>()) {
    auto number = [&](StringRef name) {
      return entry.getAs<IntegerAttr>(name).getInt();
    };
    SeparatedExpectation expectation;
    expectation.found = number("found");
    expectation.expected = number("expected");
    expectation.closeness = check::Closeness(number("closeness"));
    expectation.tolerance =
        entry.getAs<FloatAttr>("tolerance").getValueAsDouble();
    expectation.maxUnits = uint64_t(number("max_units"));
    expectation.minUnits = uint64_t(number("min_units"));
    expectation.location = textOf(entry.getAs<LocationAttr>("location"));
    result.push_back(std::move(expectation));
  }
  module->removeAttr(expectationsAttrName);
  return result;
}
