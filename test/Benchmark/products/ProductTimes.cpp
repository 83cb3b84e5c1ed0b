//===- ProductTimes.cpp - Products by a library and by generated code -----===//
//
//   ProductTimes times|choices|counts [CPU]
//
// Reads one product per line from standard input,
//
//   M N K LEFT RIGHT BATCH PLACE
//
// with LEFT and RIGHT `plain` or `transposed`, and PLACE of the batch `outer`
// or `middle`, and prints the line with something behind it. `times`: the
// shortest times in nanoseconds of 30 runs by the library and by generated
// code, on one thread and taking turns; 0 where there is no such code.
// `choices`: which of them the compiler chooses. `counts`: what ProductCost
// counts, by generated code and by the library. test/Benchmark/products.py says
// which products.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/ProductCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Driver/Compiler.h"
#include "tenon/Runtime/Executor.h"
#include "tenon/Support/ExitCode.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>

using namespace mlir;
using namespace tenon;

namespace {

/// Runs of a product, in rounds between which the other way has its turn.
constexpr int rounds = 5, runsPerRound = 6;

struct Product {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  bool isLeftTransposed = false, isRightTransposed = false,
       isBatchInside = false;
};

bool parse(const std::string &line, Product &p) {
  std::istringstream in(line);
  std::string left, right, place;
  in >> p.m >> p.n >> p.k >> left >> right >> p.batch >> place;
  p.isLeftTransposed = left == "transposed";
  p.isRightTransposed = right == "transposed";
  p.isBatchInside = place == "middle";
  return bool(in);
}

/// A matrix, with the batch around it or between its dimensions.
std::string matrixType(const Product &p, int64_t rows, int64_t columns) {
  std::array<int64_t, 3> shape = {p.batch, rows, columns};
  if (p.isBatchInside)
    std::swap(shape[0], shape[1]);
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + "f32>";
}

std::string textOf(const Product &p) {
  std::string left =
      p.isLeftTransposed ? matrixType(p, p.k, p.m) : matrixType(p, p.m, p.k);
  std::string right =
      p.isRightTransposed ? matrixType(p, p.n, p.k) : matrixType(p, p.k, p.n);
  int batchDim = p.isBatchInside, first = 1 - batchDim;
  return llvm::formatv(
             "func.func @main(%a: {0}, %b: {1}) -> tensor<{2}x{3}x{4}xf32> {{\n"
             "  %r = stablehlo.dot_general %a, %b, batching_dims = [{5}] x "
             "[{5}], contracting_dims = [{6}] x [{7}] : ({0}, {1}) -> "
             "tensor<{2}x{3}x{4}xf32>\n"
             "  return %r : tensor<{2}x{3}x{4}xf32>\n}\n",
             left, right, p.batch, p.m, p.n, batchDim,
             p.isLeftTransposed ? first : 2, p.isRightTransposed ? 2 : first)
      .str();
}

driver::CompileOptions optionsFor(const std::string &file,
                                  const std::string &cpu) {
  driver::CompileOptions options;
  options.input = file;
  options.cpu = cpu;
  options.threads = 1;
  return options;
}

/// Null with a message if it cannot be compiled so.
std::unique_ptr<runtime::Executor> load(driver::CompileOptions options) {
  driver::CompileResult compiled = driver::compile(options);
  if (compiled.file.empty())
    return nullptr;
  runtime::ExecutorOptions running;
  running.threads = 1;
  runtime::Error error;
  auto executor =
      runtime::Executor::loadBytes(std::move(compiled.file), running, error);
  if (!executor) {
    llvm::errs() << error.message << "\n";
    return nullptr;
  }
  for (size_t tensor : executor->withoutValue())
    executor->markWritten(tensor);
  return executor;
}

/// All that a step of the product runs, and whether a library is part of it.
struct Times {
  double seconds = std::numeric_limits<double>::infinity();
  bool hasLibrary = false;

  void add(runtime::Executor &executor) {
    std::vector<runtime::InstructionTime> instructions;
    runtime::Error error;
    if (!executor.profile(runsPerRound, instructions, error))
      llvm::report_fatal_error(llvm::StringRef(error.message));
    double sum = 0;
    hasLibrary = false;
    for (const runtime::InstructionTime &instruction : instructions) {
      sum += instruction.shortest;
      hasLibrary |= instruction.library;
    }
    seconds = std::min(seconds, sum);
  }

  std::string nanoseconds() const {
    return std::to_string(std::llround(seconds * 1e9));
  }
};

bool printTimes(const std::string &file, const std::string &cpu) {
  driver::CompileOptions options = optionsFor(file, cpu);
  options.allLibraries = true;
  auto library = load(options);
  options.noLibraries = true;
  auto generated = load(options);
  if (!library || !generated)
    return false;
  Times byLibrary, byGenerated;
  for (int round = 0; round < rounds; ++round) {
    byLibrary.add(*library);
    byGenerated.add(*generated);
  }
  llvm::outs() << " " << (byLibrary.hasLibrary ? byLibrary.nanoseconds() : "0")
               << " " << byGenerated.nanoseconds();
  return true;
}

bool printChoice(const std::string &file, const std::string &cpu) {
  driver::CompileOptions options = optionsFor(file, cpu);
  options.to = "group";
  driver::CompileResult compiled = driver::compile(options);
  bool isLibrary = llvm::StringRef(compiled.text).contains("exec.library");
  llvm::outs() << " " << (isLibrary ? "library" : "generated");
  return compiled.code == exitOk;
}

/// Nothing for what is no product any more.
bool printCounts(const std::string &file, const std::string &cpu) {
  driver::CompileOptions options = optionsFor(file, cpu);
  options.to = "simplify";
  driver::CompileResult compiled = driver::compile(options);
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(compiled.text, &context);
  auto isa = target::isaOfFeatureSet(compiled.featureSet);
  if (!module || !isa)
    return false;
  module->walk([&](stablehlo::DotGeneralOp dot) {
    auto counts = cost::countProduct(dot, *isa);
    if (!counts)
      return;
    for (double count : counts->kernel)
      llvm::outs() << " " << count;
    for (double count : counts->call)
      llvm::outs() << " " << count;
  });
  return true;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::StringRef mode = argc > 1 ? argv[1] : "";
  std::string cpu = argc > 2 ? argv[2] : "";
  auto *print = mode == "times"     ? printTimes
                : mode == "choices" ? printChoice
                : mode == "counts"  ? printCounts
                                    : nullptr;
  llvm::SmallString<64> file;
  if (!print || argc > 3) {
    llvm::errs() << "usage: ProductTimes times|choices|counts [CPU]\n";
    return exitBadUsage;
  }
  if (llvm::sys::fs::createTemporaryFile("product", "mlir", file)) {
    llvm::errs() << "error: cannot write a temporary file\n";
    return exitUserError;
  }
  bool isRight = true;
  for (std::string line; isRight && std::getline(std::cin, line);) {
    Product product;
    std::error_code error;
    isRight = parse(line, product);
    if (isRight) {
      llvm::raw_fd_ostream(file, error) << textOf(product);
      llvm::outs() << line;
      isRight = print(file.str().str(), cpu);
      llvm::outs() << "\n";
      llvm::outs().flush();
    }
    if (!isRight)
      llvm::errs() << "error: no product, or none that compiles: " << line
                   << "\n";
  }
  llvm::sys::fs::remove(file);
  return isRight ? exitOk : exitUserError;
}
