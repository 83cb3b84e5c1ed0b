//===- SideBySide.cpp - Code of many modules, in several threads ----------===//
//
// See SideBySide.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/LLVM/SideBySide.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace mlir;

namespace tenon::codegen {

namespace {

/// One thread with a context of its own: nothing is shared, nothing is locked.
class Worker {
public:
  explicit Worker(
      llvm::function_ref<std::unique_ptr<CodeMaker>(MLIRContext &)> newMaker)
      : context(MLIRContext::Threading::DISABLED), maker(newMaker(context)) {
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        current->errors.push_back(diagnostic.str());
    });
  }

  void run(std::string bytecode, MadeCode &made) {
    current = &made;
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    if (auto module = parseSourceString<ModuleOp>(bytecode, config))
      made.code = maker->make(*module);
  }

private:
  MLIRContext context;
  std::unique_ptr<CodeMaker> maker;
  MadeCode *current = nullptr;
};

} // namespace

std::string bytecodeOf(ModuleOp module) {
  std::string bytecode;
  llvm::raw_string_ostream stream(bytecode);
  // Only fails for versions of the format, and none is asked for.
  (void)writeBytecodeToFile(module, stream);
  return bytecode;
}

std::vector<MadeCode> makeSideBySide(
    std::vector<std::string> bytecodes, unsigned threads,
    llvm::function_ref<std::unique_ptr<CodeMaker>(MLIRContext &)> newMaker) {
  std::vector<MadeCode> made(bytecodes.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    Worker worker(newMaker);
    for (size_t i = next++; i < made.size(); i = next++)
      worker.run(std::move(bytecodes[i]), made[i]);
  };
  std::vector<std::thread> team;
  for (size_t i = 1, e = std::min<size_t>(threads, made.size()); i < e; ++i)
    team.emplace_back(work);
  if (!made.empty())
    work();
  for (std::thread &thread : team)
    thread.join();
  return made;
}

} // namespace tenon::codegen
