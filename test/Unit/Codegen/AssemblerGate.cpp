//===- AssemblerGate.cpp - Every kernel of the tests is assembled ---------===//
//
// See AssemblerGate.h.
//
//===----------------------------------------------------------------------===//

#include "AssemblerGate.h"

#include "tenon/Codegen/GPU/AssemblePtx.h"
#include "tenon/Codegen/GPU/EmitPtx.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MathExtras.h"

#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

namespace {

// Of a multiprocessor, and what a block may share without asking for more.
constexpr int64_t registersOfGpu = 65536, bytesToShare = 48 * 1024;
// ptxas spills a few registers of kernels that have far from all that a thread
// may have: at most these bytes so far.
constexpr int64_t mostStack = 24, mostSpilled = 48;

class AssemblerGate : public testing::Environment {
public:
  static AssemblerGate &instance() {
    static auto *gate = new AssemblerGate; // GoogleTest deletes it
    return *gate;
  }

  std::set<std::string> texts;

  void TearDown() override {
    if (texts.empty())
      return;
    std::string error;
    auto assembler = findAssembler("", error);
    if (!assembler) {
      ADD_FAILURE()
          << "no ptxas to assemble kernels with; tools/environment.sh "
             "installs it "
          << error;
      return;
    }
    MLIRContext context(MLIRContext::Threading::DISABLED);
    context
        .loadDialect<func::FuncDialect, stablehlo::StableHLODialect,
                     chlo::CHLODialect, step::StepDialect, exec::ExecDialect>();
    prepareContext(context);
    std::vector<OwningOpRef<ModuleOp>> modules;
    SmallVector<func::FuncOp> kernels;
    for (const std::string &text : texts) {
      modules.push_back(parseSourceString<ModuleOp>(text, &context));
      kernels.push_back(modules.back()->lookupSymbol<func::FuncOp>("kernel"));
    }
    for (StringRef name : {"sm_80", "sm_90", "sm_100", "sm_120"}) {
      const auto *gpu = target::gpuArchitectureNamed(name);
      auto ptx = emitPtx(kernels, {gpu, Subnormals::flush});
      ASSERT_TRUE(succeeded(ptx)) << name.str();
      auto code = assemblePtx(ptx->text, *gpu, *assembler, error);
      ASSERT_TRUE(code) << name.str() << ": " << error;
      for (const auto &[kernel, text] : llvm::zip(ptx->kernels, texts)) {
        SCOPED_TRACE(name.str() + ", schedule '" + kernel.schedule + "', " +
                     text);
        judge(kernel, *code);
        for (const PtxKernel &follower : ptx->kernels)
          if (follower.symbol == kernel.followedBy)
            judge(follower, *code);
      }
    }
  }

private:
  static void judge(const PtxKernel &kernel, const MachineCode &code) {
    ASSERT_TRUE(code.resources.contains(kernel.symbol)) << kernel.symbol;
    const KernelResources &taken = code.resources.at(kernel.symbol);
    // Warps are given registers, 8 for each thread at a time.
    EXPECT_LE(int64_t(llvm::alignTo(taken.registers, 8)) *
                  int64_t(llvm::alignTo(kernel.threads, 32)),
              registersOfGpu)
        << kernel.symbol;
    EXPECT_LE(taken.sharedBytes, bytesToShare) << kernel.symbol;
    if (kernel.isInParts)
      return;
    EXPECT_LE(taken.stackBytes, mostStack) << kernel.symbol;
    EXPECT_LE(taken.spillBytes, mostSpilled)
        << kernel.symbol << " of " << taken.registers << " registers";
    if (taken.spillBytes)
      return;
    for (const std::string &warning : code.warnings)
      EXPECT_EQ(warning.find("'" + kernel.symbol + "'"), std::string::npos)
          << warning;
  }
};

const auto *const registered =
    testing::AddGlobalTestEnvironment(&AssemblerGate::instance());

} // namespace

void tenon::assembleLater(const std::string &text) {
  AssemblerGate::instance().texts.insert(text);
}
