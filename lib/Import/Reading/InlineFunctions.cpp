//===- InlineFunctions.cpp - One function, nothing called -----------------===//
//
// Callees are made flat before their callers, so that each body is cloned in
// its final form. The size of the result is computed before anything is cloned:
// a chain of functions that call each other twice doubles with every link.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Import/BoundText.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

namespace tenon::importer {
#define GEN_PASS_DEF_INLINEFUNCTIONSPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;

namespace {

/// The function a call or a composite stands for; null for other operations.
FlatSymbolRefAttr calleeOf(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCalleeAttr();
  if (auto composite = dyn_cast<tenon::stablehlo::CompositeOp>(op))
    return composite.getDecompositionAttr();
  return {};
}

/// Puts `op` and everything in it at a call site.
void moveToCallSite(Operation *op, Location caller) {
  auto atCaller = [&](Location callee) {
    return CallSiteLoc::get(callee, caller);
  };
  op->walk([&](Operation *inner) {
    inner->setLoc(atCaller(inner->getLoc()));
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(atCaller(argument.getLoc()));
  });
}

class InlineFunctions
    : public tenon::importer::impl::InlineFunctionsPassBase<InlineFunctions> {
public:
  using InlineFunctionsPassBase::InlineFunctionsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    symbols.emplace(module);
    auto main = symbols->lookup<func::FuncOp>(entry);
    if (!main || main.isExternal()) {
      InFlightDiagnostic error = module.emitError("found no function @")
                                 << entry << " with a body";
      for (auto function : module.getOps<func::FuncOp>())
        if (function.isPublic())
          error.attachNote(function.getLoc())
              << "@" << function.getSymName()
              << " is a public function; choose it with --function="
              << function.getSymName();
      return signalPassFailure();
    }
    if (failed(visit(main)))
      return signalPassFailure();
    for (func::FuncOp function : order)
      for (Operation *call : calls[function])
        if (failed(inlineCall(call)))
          return signalPassFailure();
    dropFunctions(main);
    remark::passed(main.getLoc(), remark::RemarkOpts::name("inlined")
                                      .category("import-inline-functions")
                                      .function("main"))
        << remark::add("{0} calls of {1} functions inlined", inlined,
                       order.size() - 1);
  }

private:
  /// Lists `root` and what it calls in `order`, callees first. Explicit stack,
  /// because a chain of calls may be as long as the file.
  LogicalResult visit(func::FuncOp root) {
    struct Frame {
      func::FuncOp function;
      size_t next = 0;
    };
    SmallVector<Frame> stack;
    DenseMap<Operation *, bool> finished; // false while on the stack
    auto enter = [&](func::FuncOp function) {
      finished[function] = false;
      uint64_t &size = sizes[function];
      SmallVector<Operation *> &list = calls[function];
      function.walk([&](Operation *op) {
        ++size;
        if (calleeOf(op))
          list.push_back(op);
      });
      stack.push_back({function});
    };
    enter(root);
    while (!stack.empty()) {
      Frame &frame = stack.back();
      func::FuncOp function = frame.function;
      if (frame.next == calls[function].size()) {
        finished[function] = true;
        order.push_back(function);
        stack.pop_back();
        for (Operation *call : calls[function])
          sizes[function] = llvm::SaturatingAdd(
              sizes[function],
              sizes[symbols->lookup(calleeOf(call).getValue())]);
        if (sizes[function] > uint64_t(TextLimits().operations))
          return function.emitError("inlining makes more than ")
                 << TextLimits().operations << " operations";
        continue;
      }
      Operation *call = calls[function][frame.next++];
      auto callee = symbols->lookup<func::FuncOp>(calleeOf(call).getValue());
      if (failed(checkCallee(call, callee)))
        return failure();
      auto known = finished.find(callee);
      if (known == finished.end())
        enter(callee);
      else if (!known->second)
        return call->emitError("recursive call of @")
               << callee.getSymName() << "; steps hold no recursion";
    }
    return success();
  }

  LogicalResult checkCallee(Operation *call, func::FuncOp callee) {
    if (!callee)
      return call->emitError("calls @")
             << calleeOf(call).getValue() << ", which the module does not have";
    if (callee.isExternal())
      return call->emitError("calls @")
             << callee.getSymName() << ", which has no body";
    if (!callee.getBody().hasOneBlock())
      return callee.emitError("has ")
             << callee.getBody().getBlocks().size() << " blocks, expected one";
    if (!llvm::equal(call->getOperandTypes(), callee.getArgumentTypes()) ||
        !llvm::equal(call->getResultTypes(), callee.getResultTypes()))
      return call->emitError("calls @")
             << callee.getSymName() << " of type " << callee.getFunctionType()
             << " with other types";
    return success();
  }

  LogicalResult inlineCall(Operation *call) {
    auto callee = symbols->lookup<func::FuncOp>(calleeOf(call).getValue());
    IRMapping mapping;
    Block &body = callee.getBody().front();
    mapping.map(body.getArguments(), call->getOperands());
    OpBuilder builder(call);
    for (Operation &op : body.without_terminator())
      moveToCallSite(builder.clone(op, mapping), call->getLoc());
    auto end = dyn_cast<func::ReturnOp>(body.getTerminator());
    if (!end)
      return body.getTerminator()->emitError(
          "ends a function, expected return");
    for (auto [result, value] :
         llvm::zip_equal(call->getResults(), end.getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call->erase();
    ++inlined;
    return success();
  }

  /// Leaves @main alone in the module, except for functions something else
  /// still refers to.
  void dropFunctions(func::FuncOp main) {
    DenseSet<StringAttr> used;
    auto uses = SymbolTable::getSymbolUses(main.getOperation());
    if (uses)
      for (SymbolTable::SymbolUse use : *uses)
        used.insert(use.getSymbolRef().getRootReference());
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (uses && function != main && !used.contains(function.getSymNameAttr()))
        symbols->erase(function);
    main.setPublic();
    if (main.getSymName() != "main")
      main.setSymName("main");
  }

  std::optional<SymbolTable> symbols;
  SmallVector<func::FuncOp> order;
  DenseMap<Operation *, SmallVector<Operation *>> calls;
  DenseMap<Operation *, uint64_t> sizes;
  int64_t inlined = 0;
};

} // namespace
