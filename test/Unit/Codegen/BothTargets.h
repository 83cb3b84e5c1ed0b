//===- BothTargets.h - A kernel on an emulated GPU and on the CPU ---------===//
//
// The PTX of a kernel is executed by the emulated driver, which checks every
// access, and has to give the bits that the same kernel gives on this
// processor. NaN is NaN: its bits are left open by PTX. A kernel that sums
// beside what it has of elements is several kernels on this processor.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_CODEGEN_BOTHTARGETS_H
#define TENON_TEST_UNIT_CODEGEN_BOTHTARGETS_H

#include "EmulatedKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

/// A kernel's signature as far as a test has to make values for it.
struct Parameter {
  mlir::Type element;
  int64_t elements;
  size_t bytes() const {
    return size_t(elements) * size_t(storageBytes(element));
  }
  static int64_t storageBytes(mlir::Type type) {
    return std::max<int64_t>(type.getIntOrFloatBitWidth() / 8, 1);
  }
};

/// Runs the function `@kernel` (private, on tensors) on both, with the same
/// operands: numbers of all sizes, zeros of both signs, infinities, NaN and
/// subnormal ones; of integers all bits.
class BothTargets {
public:
  BothTargets(const std::string &text, tenon::Subnormals subnormals,
              llvm::StringRef gpu);

  /// Integers of these parameters are from -2 to that number, as indices are.
  std::map<size_t, int64_t> limits;
  /// Floats are less than 1: zeros and subnormal ones among them, but nothing
  /// that would make NaN of all that is computed.
  bool areSmall = false;

  /// Fails the running test if a bit differs. `order` is that of the warps.
  void compare(uint32_t seed, const char *order);

  /// Whether that text, which a test has changed, runs without a fault and
  /// gives the bits of this processor.
  bool isEqual(const std::string &text, uint32_t seed);

  TenonEmulatedCounters counters{};
  tenon::codegen::PtxModule ptx;

private:
  std::vector<Bytes> someOperands(uint32_t seed) const;
  /// What lies in them behind the kernel on this processor.
  void runOnCpu(std::vector<Bytes> &values);
  /// The first element that differs; none is npos.
  static size_t differingAt(const Parameter &parameter, const Bytes &cpu,
                            const Bytes &gpu);
  void compareOne(size_t index, const Parameter &parameter, const Bytes &cpu,
                  const Bytes &gpu);
  /// A kernel of this processor, and the numbers of its memory: among the
  /// parameters, and behind these what one kernel leaves for another.
  struct CpuKernel {
    std::unique_ptr<EmittedKernel> kernel;
    std::vector<size_t> memory;
  };
  void emitOnCpu(mlir::func::FuncOp kernel);

  tenon::Subnormals subnormals;
  std::vector<CpuKernel> onCpu;
  std::vector<Parameter> between;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Parameter> parameters;
  size_t operands = 0;
};

/// The kernel with subnormal numbers flushed and kept, and warps in two orders.
/// Returns what was said of it.
tenon::codegen::PtxKernel
compareTargets(const std::string &text,
               const std::map<size_t, int64_t> &limits = {},
               bool areSmall = false);

/// The same of a kernel that a schedule for GPUs has to take.
void compareFast(const std::string &text,
                 const std::map<size_t, int64_t> &limits = {});
/// The counters of a kernel on an emulated sm_90. Its bytes have to move by
/// wide accesses, in no more sectors than they fill, without conflicts in
/// shared memory.
void expectGoodAccesses(const std::string &text,
                        const std::map<size_t, int64_t> &limits = {});

/// `text` with each key replaced.
std::string fill(std::string text,
                 const std::map<std::string, std::string> &values);

#endif // TENON_TEST_UNIT_CODEGEN_BOTHTARGETS_H
