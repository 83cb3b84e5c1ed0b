//===- Program.h - Decoded PTX --------------------------------------------===//
//
// What the parser makes of a PTX text and the launcher executes: functions of
// instructions whose operands are places in a warp's register file or
// constants, both laid out as 32 lanes of the operand's width.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_EMULATEDCUDA_PROGRAM_H
#define TENON_LIB_EMULATEDCUDA_PROGRAM_H

#include "tenon/Libraries/CudaDriver.h"
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::emulated {

constexpr unsigned laneCount = 32;
/// One bit per lane.
using Mask = uint32_t;
constexpr Mask allLanes = ~Mask(0);

/// An error of the program or of the module: a text and the code that CUDA
/// gives. It is thrown where it is found and caught by the entry points of the
/// driver.
struct Fault {
  CUresult code;
  std::string text;
};

enum class Space : uint8_t {
  Generic,
  Global,
  Shared,
  Local,
  Constant,
  Parameter
};

enum class Rounding : uint8_t { None, Nearest, Zero, Down, Up, Away };

struct Operand {
  enum Kind : uint8_t {
    None,
    Register,
    Constant,
    Address,
    Vector,
    Label,
    Sink
  };
  Kind kind = None;
  /// A predicate that is read inverted.
  bool inverted = false;
  /// Of a register or constant: bits of a lane; 1 for a predicate, which is one
  /// mask.
  uint8_t bits = 0;
  /// Index of the register (also an address' base), or -1.
  int32_t index = -1;
  /// Where the register's lanes begin in the register file, in bytes.
  uint32_t offset = 0;
  /// A constant, an address' displacement, or a label's instruction.
  uint64_t value = 0;
  /// A constant's lanes.
  const void *lanes = nullptr;
  /// Of a vector: its place in Instruction::elements.
  uint16_t first = 0, count = 0;
};

struct Warp;
struct Instruction;
using Execute = void (*)(Warp &, const Instruction &, Mask active);

struct Instruction {
  Execute execute = nullptr;
  std::vector<Operand> operands;
  std::vector<Operand> elements;
  /// Guard predicate: an operand that is None without one.
  Operand guard;
  std::string opcode;

  // What the opcode's modifiers say, for forms that share one function.
  Rounding rounding = Rounding::None;
  bool flush = false;
  bool saturate = false;
  bool propagateNaN = false;
  bool relu = false;
  Space space = Space::Generic;
  /// Bits of one memory element.
  uint16_t elementBits = 0;
  uint8_t vectorSize = 1;

  enum Flow : uint8_t { Straight, Branch, IndexedBranch, Exit, Barrier };
  Flow flow = Straight;
  /// Moves bytes, also those without a value, instead of asking for one.
  bool carriesUndefined = false;
  /// Of a branch: where lanes that parted meet again.
  uint32_t target = 0, meet = 0;
  /// Of an indexed branch: where it goes, by its operand.
  std::vector<uint32_t> targets;

  /// Registers that it reads (they must have values) and writes.
  std::vector<uint32_t> reads, writes;

  uint32_t line = 0;
  uint32_t sourceFile = 0, sourceLine = 0, sourceColumn = 0;
};

struct Parameter {
  std::string name;
  uint32_t offset, bytes;
};

/// A variable of a module or function: in global, constant, shared or local
/// memory.
struct Variable {
  std::string name;
  Space space;
  uint32_t alignment = 1;
  uint64_t bytes = 0;
  /// `.extern .shared x[]`: begins where the launch's dynamic bytes begin.
  bool dynamic = false;
  /// Initial bytes; may be shorter than `bytes` (the rest is zero) or empty.
  std::vector<uint8_t> initial;
  bool hasInitial = false;
  uint64_t address = 0;
};

struct RegisterPlace {
  uint32_t index, offset;
  uint8_t bits;
};

struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  std::vector<Instruction> code;
  std::vector<Variable> variables;
  uint32_t registerCount = 0;
  uint32_t registerBytes = 0;
  uint32_t sharedBytes = 0;
  /// Address of the shared memory that the launch asks for.
  uint32_t dynamicBase = 0;
  uint32_t localBytes = 0;
  std::array<uint32_t, 3> requiredThreads{}, mostThreads{};
  /// Constants' lanes; a deque, for operands point into it.
  std::deque<std::array<uint64_t, laneCount>> constants;
};

struct Program {
  unsigned ptxVersion = 0;
  /// As 90 for sm_90.
  unsigned target = 0;
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;
  std::deque<Variable> variables;
  std::map<uint32_t, std::string> files;
};

/// Registers that every warp has from the start, in this order, 32 bits each.
constexpr std::string_view specialRegisters[] = {
    "%tid.x",          "%tid.y",       "%tid.z",
    "%ntid.x",         "%ntid.y",      "%ntid.z",
    "%ctaid.x",        "%ctaid.y",     "%ctaid.z",
    "%nctaid.x",       "%nctaid.y",    "%nctaid.z",
    "%laneid",         "%warpid",      "%nwarpid",
    "%lanemask_eq",    "%lanemask_le", "%lanemask_lt",
    "%lanemask_ge",    "%lanemask_gt", "%dynamic_smem_size",
    "%total_smem_size"};
constexpr uint32_t specialCount =
    sizeof(specialRegisters) / sizeof(specialRegisters[0]);

/// Addresses of shared memory begin here, for on GPUs the first bytes are the
/// system's.
constexpr uint64_t sharedBase = 1024;
/// Where shared and local memory lie among generic addresses.
constexpr uint64_t sharedWindow = uint64_t(1) << 56, localWindow = uint64_t(2)
                                                                   << 56;

/// Parses and decodes; throws a Fault with CUDA_ERROR_INVALID_PTX that names
/// the line. `placeGlobal` is asked for the address of each global and constant
/// variable.
std::unique_ptr<Program>
parse(std::string_view text,
      uint64_t (*placeGlobal)(void *context, const Variable &), void *context);

/// Sets `meet` of every branch: the first instruction that every path from the
/// branch reaches (its immediate post-dominator), or the code's end.
void findMeetingPoints(Function &function);

} // namespace tenon::emulated

#endif // TENON_LIB_EMULATEDCUDA_PROGRAM_H
