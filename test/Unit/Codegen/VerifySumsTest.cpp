//===- VerifySumsTest.cpp - Code that adds in 16 bits is found ------------===//
//
// Loops as a schedule could emit them, right and wrong.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/VerifySums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {

/// What is said of emitted code; empty if nothing.
std::string saidOf(const std::string &body) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect,
                      memref::MemRefDialect, scf::SCFDialect,
                      vector::VectorDialect>();
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    said += diagnostic.str();
    return success();
  });
  auto module =
      parseSourceString<ModuleOp>("func.func @emitted(%x: memref<64xbf16>, %y: "
                                  "memref<4xbf16>, %from: index, "
                                  "%to: index, %step: index) {\n" +
                                      body + "return\n}",
                                  &context);
  EXPECT_TRUE(module) << said;
  if (!module)
    return "";
  auto emitted = module->lookupSymbol<func::FuncOp>("emitted");
  bool passes = succeeded(codegen::verifySums(emitted, emitted));
  EXPECT_EQ(passes, said.empty());
  return said;
}

/// The sum of the elements, carried in `CARRIED`.
std::string sumOf(std::string carried, bool rounds) {
  std::string text = R"(
    %zero = arith.constant 0.0 : CARRIED
    %sum = scf.for %i = %from to %to step %step iter_args(%s = %zero) -> (CARRIED) {
      %n = memref.load %x[%i] : memref<64xbf16>
      %w = arith.extf %n : bf16 to f32
      WIDEN
      %a = arith.addf %t, %w : f32
      NARROW
      scf.yield %c : CARRIED
    }
  )";
  auto put = [&](const std::string &word, const std::string &meant) {
    for (size_t at; (at = text.find(word)) != std::string::npos;)
      text.replace(at, word.size(), meant);
  };
  put("WIDEN", rounds ? "%t = arith.extf %s : bf16 to f32"
                      : "%t = arith.addf %s, %zero : f32");
  put("NARROW", rounds ? "%c = arith.truncf %a : f32 to bf16"
                       : "%c = arith.addf %a, %zero : f32");
  put("CARRIED", carried);
  return text;
}

TEST(VerifySums, PassesSumsInSingle) {
  EXPECT_EQ(saidOf(sumOf("f32", /*rounds=*/false)), "");
}

TEST(VerifySums, FindsASumThatALoopRounds) {
  EXPECT_NE(saidOf(sumOf("bf16", /*rounds=*/true))
                .find("the code of kernel 'emitted' holds a sum in 16 bits "
                      "('scf.for'), expected f32 or wider"),
            std::string::npos);
}

TEST(VerifySums, FindsAdditionsOfNarrowFloats) {
  for (const char *body :
       {"%v = vector.load %x[%from] : memref<64xbf16>, vector<16xbf16>\n"
        "%s = vector.reduction <add>, %v : vector<16xbf16> into bf16\n",
        "%v = vector.load %x[%from] : memref<64xbf16>, vector<16xbf16>\n"
        "%s = arith.addf %v, %v : vector<16xbf16>\n",
        "%v = vector.load %x[%from] : memref<64xbf16>, vector<16xbf16>\n"
        "%s = vector.fma %v, %v, %v : vector<16xbf16>\n"})
    EXPECT_NE(saidOf(body).find("holds a sum in 16 bits"), std::string::npos)
        << body;
}

TEST(VerifySums, PassesMaximaOfNarrowFloats) {
  EXPECT_EQ(saidOf("%v = vector.load %x[%from] : memref<64xbf16>, "
                   "vector<16xbf16>\n"
                   "%s = vector.reduction <maximumf>, %v : vector<16xbf16> "
                   "into bf16\n"),
            "");
}

} // namespace
