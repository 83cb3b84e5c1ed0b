//===- VerifyStepForm.cpp - Check that a module is in step form -----------===//
//
// One diagnostic per thing that docs/Forms.md does not allow in step form. Runs
// at the end of import and, in test builds, after every stage that keeps the
// form.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Support/CheckedArithmetic.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace tenon::importer {
#define GEN_PASS_DEF_VERIFYSTEPFORMPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using tenon::step::RoleAttr;

namespace {

/// Operations of step form that are not stablehlo.
const llvm::StringLiteral keptOperations[] = {"chlo.top_k",
                                              "chlo.erf",
                                              "chlo.erfc",
                                              "chlo.erf_inv",
                                              "step.attention",
                                              "step.attention_gradient",
                                              "step.stochastic_round",
                                              "step.sharding_constraint"};

class VerifyStepForm
    : public tenon::importer::impl::VerifyStepFormPassBase<VerifyStepForm> {
  void runOnOperation() override {
    func::FuncOp main;
    for (Operation &op : getOperation().getBody()->getOperations()) {
      auto function = dyn_cast<func::FuncOp>(op);
      if (function && function.getSymName() == "main" && function.isPublic())
        main = function;
      else if (op.getName().getStringRef() != "sdy.mesh")
        refuse(&op) << "step form holds one public function @main and nothing "
                       "beside it";
    }
    if (!main)
      refuse(getOperation()) << "step form holds a public function @main";
    else
      checkMain(main);
    if (!ok)
      signalPassFailure();
  }

  InFlightDiagnostic refuse(Operation *op) {
    ok = false;
    return op->emitError();
  }

  void checkMain(func::FuncOp main) {
    if (main.isExternal()) {
      refuse(main) << "@main has no body";
      return;
    }
    main.walk([&](Operation *op) {
      if (op != main)
        checkOperation(op);
    });
    checkArguments(main);
    checkResults(main);
    if (failed(tenon::step::verifyHolding(main)) ||
        failed(tenon::step::verifyHiddenState(main)))
      ok = false;
  }

  void checkOperation(Operation *op) {
    StringRef name = op->getName().getStringRef();
    bool allowed = isa<tenon::stablehlo::StableHLODialect>(op->getDialect()) ||
                   isa<func::ReturnOp>(op) ||
                   llvm::is_contained(keptOperations, name);
    if (!allowed)
      refuse(op) << "step form holds no '" << name << "'";
    else if (isa<tenon::stablehlo::CompositeOp, tenon::stablehlo::TupleOp,
                 tenon::stablehlo::GetTupleElementOp>(op))
      refuse(op) << "step form holds no composites and tuples";
    if (auto dot = dyn_cast<tenon::stablehlo::DotGeneralOp>(op))
      if (dot.getAlgorithm())
        refuse(op) << "step form holds no dots with an algorithm";
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape())
        refuse(op) << "step form holds tensors of static shape, found a result "
                      "of type "
                   << type;
      else if (!isa<tenon::stablehlo::ConstantOp>(op))
        checkSize(op, tensor);
    }
  }

  /// Sums over all tensors of a program have to fit in 63 bits. Constants are
  /// held as one element if they repeat it, and may be simplified away.
  void checkSize(Operation *op, RankedTensorType type) {
    constexpr int64_t most = int64_t(1) << 40;
    Type element = type.getElementType();
    if (!element.isIntOrFloat())
      return;
    auto bytes = tenon::mulChecked(
        type.getNumElements(),
        int64_t(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)));
    if (!bytes || *bytes > most)
      refuse(op) << "step form holds tensors of at most " << most
                 << " bytes, found the type " << type;
  }

  template <typename Attr>
  Attr require(func::FuncOp main, DictionaryAttr attributes, StringRef name,
               const char *what, unsigned index) {
    auto found = attributes ? attributes.getAs<Attr>(name) : Attr();
    if (!found)
      refuse(main) << what << " " << index << " has no '" << name << "'";
    return found;
  }

  void checkArguments(func::FuncOp main) {
    llvm::StringMap<unsigned> names;
    llvm::DenseMap<int64_t, unsigned> successors;
    for (unsigned index = 0; index < main.getNumArguments(); ++index) {
      if (auto type =
              dyn_cast<RankedTensorType>(main.getArgumentTypes()[index]))
        checkSize(main, type);
      DictionaryAttr attributes = main.getArgAttrDict(index);
      auto role = require<RoleAttr>(main, attributes, tenon::step::roleAttrName,
                                    "argument", index);
      auto name = require<StringAttr>(
          main, attributes, tenon::step::nameAttrName, "argument", index);
      require<StringAttr>(main, attributes, tenon::step::roleReasonAttrName,
                          "argument", index);
      require<ArrayAttr>(main, attributes, tenon::step::aliasesAttrName,
                         "argument", index);
      if (!role || !name)
        continue;
      auto [other, isNew] = names.try_emplace(name.getValue(), index);
      if (!isNew)
        refuse(main) << "arguments " << other->second << " and " << index
                     << " are both named '" << name.getValue() << "'";
      auto successor =
          attributes.getAs<IntegerAttr>(tenon::step::successorAttrName);
      bool state = tenon::step::isState(role.getValue());
      if (state != bool(successor)) {
        refuse(main) << "argument " << index << " '" << name.getValue()
                     << "' has the role "
                     << tenon::step::stringifyRole(role.getValue())
                     << (state ? " and no successor" : " and a successor");
        continue;
      }
      if (!successor)
        continue;
      int64_t result = successor.getInt();
      auto [first, alone] = successors.try_emplace(result, index);
      if (!alone)
        refuse(main) << "arguments " << first->second << " and " << index
                     << " have the same successor, result " << result;
      if (result >= 0 && result < int64_t(main.getNumResults())) {
        auto resultName = main.getResultAttrOfType<StringAttr>(
            unsigned(result), tenon::step::nameAttrName);
        if (resultName && resultName != name)
          refuse(main) << "argument " << index << " is named '"
                       << name.getValue() << "' and its successor, result "
                       << result << ", '" << resultName.getValue() << "'";
      }
    }
  }

  void checkResults(func::FuncOp main) {
    llvm::StringMap<unsigned> names;
    for (unsigned index = 0; index < main.getNumResults(); ++index) {
      DictionaryAttr attributes = main.getResultAttrDict(index);
      auto name = require<StringAttr>(
          main, attributes, tenon::step::nameAttrName, "result", index);
      require<ArrayAttr>(main, attributes, tenon::step::aliasesAttrName,
                         "result", index);
      if (!name)
        continue;
      auto [other, isNew] = names.try_emplace(name.getValue(), index);
      if (!isNew)
        refuse(main) << "results " << other->second << " and " << index
                     << " are both named '" << name.getValue() << "'";
    }
  }

  bool ok = true;
};

} // namespace
