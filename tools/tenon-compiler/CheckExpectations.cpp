//===- CheckExpectations.cpp - Self-checking programs, compiled -----------===//
//
// See CompiledModules.h. Values are compared as the reference interpreter
// compares its own.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/CompiledModules.h"

#include "tenon/Reference/Compare.h"
#include "tenon/Support/ElementType.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::tool;

/// Result `index` of a run.
static reference::Tensor resultOf(const runtime::Executor &executor,
                                  int64_t index, MLIRContext &context) {
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].result != index)
      continue;
    std::string_view spelling = name(tensors[i].type);
    Type element = parseType(StringRef(spelling), &context);
    reference::Tensor tensor(RankedTensorType::get(tensors[i].shape, element));
    reference::readBytes(tensor, executor.memory(i).data(),
                         byteWidth(tensors[i].type));
    return tensor;
  }
  llvm_unreachable("a program returns what it expects something of");
}

bool CompiledModules::checkExpectations(const runtime::Executor &executor) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  bool ok = true;
  for (const importer::SeparatedExpectation &separated : expectations) {
    check::Expectation expectation{nullptr};
    expectation.closeness = separated.closeness;
    expectation.tolerance = separated.tolerance;
    expectation.maxUnits = separated.maxUnits;
    expectation.minUnits = separated.minUnits;
    auto difference = reference::firstDifference(
        resultOf(executor, separated.found, context),
        resultOf(executor, separated.expected, context),
        reference::toleranceOf(expectation));
    if (!difference)
      continue;
    ok = false;
    if (!separated.location.empty())
      llvm::errs() << separated.location << ": ";
    llvm::errs() << "error: " << *difference << "\n";
  }
  return ok;
}
