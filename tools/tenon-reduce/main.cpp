//===- main.cpp - tenon-reduce: a smaller module with the same fault -----===//
//
//   tenon-reduce FILE.mlir --test=CMD [-o OUT.mlir] [--seconds=N]
//
// CMD is a shell command that succeeds while the fault is there; `{}` in it is
// the file to look at, which comes last if there is none. Delta debugging
// (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input"):
// each kind of reduction is applied to all of its places, to halves, quarters
// and so on to single ones, and what the command accepts is kept, until no
// single place is left that can be reduced.
//
//===----------------------------------------------------------------------===//

#include "Reductions.h"

#include "tenon/Driver/Compiler.h"
#include "tenon/Import/ReadStableHLO.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;

static llvm::cl::OptionCategory category("tenon-reduce");
static llvm::cl::opt<std::string> input(llvm::cl::Positional,
                                        llvm::cl::desc("FILE.mlir"),
                                        llvm::cl::Required,
                                        llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    test("test",
         llvm::cl::desc("shell command that succeeds as long as the module "
                        "has the fault; {} in it becomes the file"),
         llvm::cl::value_desc("CMD"), llvm::cl::Required,
         llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    output("o",
           llvm::cl::desc("where to write the small module; - means standard "
                          "output"),
           llvm::cl::value_desc("OUT.mlir"), llvm::cl::init("-"),
           llvm::cl::cat(category));
static llvm::cl::opt<unsigned> seconds(
    "seconds", llvm::cl::desc("stop the command after N seconds (default: 60)"),
    llvm::cl::value_desc("N"), llvm::cl::init(60), llvm::cl::cat(category));

namespace {

int fail(const Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  return exitUserError;
}

int64_t countOperations(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](Operation *) { ++count; });
  return count;
}

class Search {
public:
  Search(OwningOpRef<ModuleOp> module, std::string candidate)
      : best(std::move(module)), candidate(std::move(candidate)) {}

  /// Whether the command still succeeds.
  bool isFaulty(ModuleOp module) {
    std::error_code error;
    llvm::raw_fd_ostream out(candidate, error);
    if (error)
      return false;
    module->print(out);
    out.close();
    ++runs;
    return llvm::sys::ExecuteAndWait("/bin/sh", {"sh", "-c", command()},
                                     std::nullopt, {}, seconds) == 0;
  }

  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const reduce::Reduction &reduction : reduce::reductions())
        changed |= apply(reduction);
    }
  }

  ModuleOp module() { return *best; }
  int64_t runs = 0;

private:
  std::string command() const {
    std::string text = test;
    size_t at = text.find("{}");
    if (at == std::string::npos)
      return text + " " + candidate;
    for (; at != std::string::npos; at = text.find("{}", at))
      text.replace(at, 2, candidate);
    return text;
  }

  /// Tries all places, then smaller ranges of them.
  bool apply(const reduce::Reduction &reduction) {
    bool changed = false;
    for (int64_t size = reduction.count(*best); size > 0; size /= 2) {
      // From the end: what nobody reads any more goes with it.
      for (int64_t last = reduction.count(*best); last > 0;) {
        int64_t first = std::max<int64_t>(last - size, 0);
        if (keep(reduction, first, last))
          changed = true;
        last = std::min(first, reduction.count(*best));
      }
    }
    return changed;
  }

  bool keep(const reduce::Reduction &reduction, int64_t first, int64_t last) {
    OwningOpRef<ModuleOp> smaller = best->clone();
    reduction.apply(*smaller, first, last);
    reduce::eraseUnread(*smaller);
    if (failed(verify(*smaller)) || !isFaulty(*smaller))
      return false;
    best = std::move(smaller);
    return true;
  }

  OwningOpRef<ModuleOp> best;
  std::string candidate; // the file the command looks at
};

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Makes a module smaller that shows a fault.\n");
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module;
  {
    llvm::SourceMgr sources;
    SourceMgrDiagnosticHandler diagnostics(sources, &context);
    importer::ReadOptions options;
    options.staticShapes = false;
    module = importer::readStableHLOFile(input, context, options);
    if (!module)
      return exitUserError;
  }
  llvm::SmallString<128> candidate;
  if (llvm::sys::fs::createTemporaryFile("tenon-reduce", "mlir", candidate))
    return fail("cannot make a temporary file");
  llvm::FileRemover remover(candidate);

  // Candidates that are no valid programs are none; nobody wants to read why.
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  int64_t before = countOperations(*module);
  Search search(std::move(module), candidate.str().str());
  if (!search.isFaulty(search.module()))
    return fail("the command fails on '" + input +
                "' itself; it has to succeed while the fault is there");
  search.run();
  std::string message;
  auto file = mlir::openOutputFile(output, &message);
  if (!file)
    return fail(message);
  search.module()->print(file->os());
  file->os() << "\n";
  file->keep();
  llvm::errs() << llvm::formatv("{0} to {1} operations in {2} runs\n", before,
                                countOperations(search.module()), search.runs);
  return exitOk;
}
