//===- tenon-opt.cpp - Run passes on a file -------------------------------===//
//
// The compiler engineer's tool: reads a module, runs the passes named on the
// command line, and writes the module. It knows every dialect, pass and stage
// pipeline of Tenon beside MLIR's own clean-ups, and bounds a text before it is
// parsed as the compiler does.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"
#include "tenon/Driver/RegisterPasses.h"
#include "tenon/Import/BoundText.h"
#include "tenon/ShardingCheck/CheckPartition.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;

static llvm::cl::opt<bool>
    isBounded("bound-text", llvm::cl::init(true),
              llvm::cl::desc("refuse texts beyond the limits before they are "
                             "parsed; off to see what the parser itself says"));

/// The text, within the limits; null after an error.
static std::unique_ptr<llvm::MemoryBuffer>
bounded(std::unique_ptr<llvm::MemoryBuffer> input) {
  importer::TextFault fault;
  auto buffer = importer::boundedCopy(input->getBuffer(),
                                      input->getBufferIdentifier(), fault);
  if (!buffer) {
    llvm::SourceMgr sources;
    auto place =
        llvm::SMLoc::getFromPointer(input->getBufferStart() + fault.offset);
    sources.AddNewSourceBuffer(std::move(input), llvm::SMLoc());
    sources.PrintMessage(place, llvm::SourceMgr::DK_Error, fault.message);
  }
  return buffer;
}

static LogicalResult run(int argc, char **argv, DialectRegistry &registry) {
  auto [inputName, outputName] = registerAndParseCLIOptions(
      argc, argv, "Tenon's pass driver: modules in, modules out\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return MlirOptMain(argc, argv, inputName, outputName, registry);
  bool isSameFile = false;
  // Opening the output would empty the input before it is read.
  if (inputName != "-" && outputName != "-" &&
      !llvm::sys::fs::equivalent(inputName, outputName, isSameFile) &&
      isSameFile && llvm::sys::fs::is_regular_file(inputName)) {
    llvm::errs() << "error: '" << outputName
                 << "' is the input, too; give another file as output\n";
    return failure();
  }
  std::string error;
  auto input = openInputFile(inputName, &error);
  auto output = input ? openOutputFile(outputName, &error) : nullptr;
  if (!output) {
    llvm::errs() << "error: " << error << "\n";
    return failure();
  }
  if (isBounded)
    input = bounded(std::move(input));
  if (!input ||
      failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return failure();
  output->keep();
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  DialectRegistry registry;
  driver::registerDialects(registry);
  registerTransformsPasses();
  tenon::registerAllPasses();
  tenon::shardingcheck::registerShardingCheckPasses();
  return asMainReturnCode(run(argc, argv, registry));
}
