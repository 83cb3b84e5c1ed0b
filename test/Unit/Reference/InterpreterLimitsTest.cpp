//===- InterpreterLimitsTest.cpp - Programs that never end ----------------===//
//
// An endless loop, values that do not fit and endless recursion end with a
// diagnostic; so does what the interpreter does not know.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Reference/Interpreter.h"

#include "mlir/IR/Diagnostics.h"
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::reference;

namespace {

/// How a run of @main ends, and what it said.
struct End {
  Failure failure = Failure::none;
  std::string message;
};

End run(llvm::StringRef text, InterpreterLimits limits) {
  mlir::DialectRegistry registry;
  importer::registerInputDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  End end;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          end.message = diagnostic.str();
                                          return mlir::success();
                                        });
  auto module = importer::readStableHLO(text, "program.mlir", context);
  EXPECT_TRUE(module);
  if (!module)
    return end;
  Interpreter interpreter(Subnormals::keep, limits);
  auto values = interpreter.run(
      module->lookupSymbol<mlir::func::FuncOp>("main"), Tensors());
  EXPECT_EQ(mlir::failed(values), interpreter.failure() != Failure::none);
  end.failure = interpreter.failure();
  return end;
}

TEST(InterpreterLimits, Operations) {
  InterpreterLimits limits;
  limits.operations = 1000;
  End end = run("func.func @main() -> tensor<i1> {\n"
                "  %c = stablehlo.constant dense<true> : tensor<i1>\n"
                "  %0 = stablehlo.while(%i = %c) : tensor<i1>\n"
                "  cond { stablehlo.return %i : tensor<i1> }\n"
                "  do { %n = stablehlo.and %i, %i : tensor<i1>\n"
                "       stablehlo.return %n : tensor<i1> }\n"
                "  return %0 : tensor<i1>\n}\n",
                limits);
  EXPECT_EQ(end.failure, Failure::limit);
  EXPECT_EQ(end.message, "interpretation exceeds its limit of 1000 operations");
}

TEST(InterpreterLimits, Elements) {
  InterpreterLimits limits;
  limits.elements = 1000;
  const char *text = "func.func @main() -> tensor<ELEMENTSxi8> {\n"
                     "  %0 = stablehlo.iota dim = 0 : tensor<ELEMENTSxi8>\n"
                     "  %1 = stablehlo.not %0 : tensor<ELEMENTSxi8>\n"
                     "  return %1 : tensor<ELEMENTSxi8>\n}\n";
  auto withElements = [&](llvm::StringRef count) {
    std::string result = text;
    for (size_t at; (at = result.find("ELEMENTS")) != std::string::npos;)
      result.replace(at, 8, count);
    return result;
  };
  EXPECT_EQ(run(withElements("500"), limits).failure, Failure::none);
  End end = run(withElements("501"), limits);
  EXPECT_EQ(end.failure, Failure::limit);
  EXPECT_EQ(end.message, "interpretation exceeds its limit of 1000 elements");
}

TEST(InterpreterLimits, Calls) {
  End end = run("func.func @main() -> tensor<i1> {\n"
                "  %0 = call @main() : () -> tensor<i1>\n"
                "  return %0 : tensor<i1>\n}\n",
                {});
  EXPECT_EQ(end.failure, Failure::limit);
  EXPECT_EQ(end.message,
            "interpretation exceeds its limit of 200 nested calls");
}

TEST(InterpreterLimits, Unsupported) {
  End end = run("func.func @main() -> tensor<4xf32> {\n"
                "  %0 = stablehlo.custom_call @something() : () -> "
                "tensor<4xf32>\n"
                "  return %0 : tensor<4xf32>\n}\n",
                {});
  EXPECT_EQ(end.failure, Failure::unsupported);
  EXPECT_EQ(end.message, "'stablehlo.custom_call' op @something is not "
                         "supported by the reference interpreter");
}

TEST(InterpreterLimits, Disagreement) {
  End end = run("func.func @main() {\n"
                "  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi8>\n"
                "  check.expect_eq_const %0, dense<[1, 3]> : tensor<2xi8>\n"
                "  return\n}\n",
                {});
  EXPECT_EQ(end.failure, Failure::disagreement);
  EXPECT_EQ(end.message, "element [1]: found 2, expected 3");
}

} // namespace
