//===- Inspect.cpp - tenon inspect ----------------------------------------===//
//
// Prints the arguments of a module, or what a .tenon file holds.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/Modules.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Format/Holding.h"
#include "tenon/Format/Mesh.h"
#include "tenon/Format/Parts.h"
#include "tenon/Format/PinnedMemory.h"
#include "tenon/Format/Reader.h"
#include "tenon/Libraries/HostCalls.h"
#include "tenon/Libraries/Stored.h"
#include "tenon/Runtime/Settings.h"
#include "tenon/Support/ExitCode.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

using namespace tenon;
using namespace tenon::tool;

namespace {

std::string shapeText(const format::Tensor &tensor) {
  std::string text;
  for (int64_t extent : tensor.shape)
    text += std::to_string(extent) + "x";
  return text + std::string(name(tensor.type));
}

/// What there is to say of a tensor that is not held as it is, and of copies.
std::string holdingText(const format::Index &index,
                        const format::Tensor &tensor) {
  std::string text;
  if (tensor.held.rule != format::HoldingRule::asItIs)
    text = " (held " + format::describe(index, tensor.held) + ")";
  if (const format::Tensor part = format::partOf(tensor);
      part.shape != tensor.shape)
    text += " (each rank has " + shapeText(part) + ")";
  for (const format::Holding &copy : tensor.copies)
    text += " (copy " + format::describe(index, copy) + ")";
  return text + (tensor.isHidden() ? " (hidden state)" : "");
}

int64_t countInstructions(const format::Block &block) {
  int64_t count = 0;
  for (const format::Instruction &instruction : block.instructions) {
    ++count;
    for (const format::Block &inner : instruction.blocks)
      count += countInstructions(inner);
  }
  return count;
}

/// The collectives that a run of a block comes to, and what rank 0, which has
/// the largest share, receives in them.
struct Exchange {
  int64_t collectives = 0, bytes = 0;
  int64_t combined = 0; // by a library
  std::string library;
  bool isExact = true; // no loop of an unknown length and no branch holds any

  void add(const Exchange &other, int64_t times) {
    collectives += other.collectives * times;
    bytes += other.bytes * times;
    combined += other.combined * times;
    if (!other.library.empty())
      library = other.library;
    isExact = isExact && other.isExact;
  }
};

Exchange exchangeOf(const format::Index &index, const format::Block &block) {
  Exchange all;
  for (const format::Instruction &instruction : block.instructions) {
    const format::Callee &callee = index.callees[instruction.callee];
    std::string error;
    if (instruction.kind == format::InstructionKind::invoke &&
        callee.kind == format::CalleeKind::collective)
      if (auto description =
              libraries::restoreCollective(callee, index.ranks(), error))
        all.add({.collectives = description->kind !=
                                libraries::CollectiveKind::partitionId,
                 .bytes = libraries::receivedBytes(*description, 0),
                 .combined = !callee.library.empty(),
                 .library = callee.library},
                1);
    for (const format::Block &inner : instruction.blocks) {
      Exchange once = exchangeOf(index, inner);
      const bool isLoop = instruction.kind == format::InstructionKind::loop,
                 isKnown = isLoop && instruction.trips >= 0;
      once.isExact = once.isExact && (isKnown || once.collectives == 0);
      const bool isCondition = isLoop && &inner == instruction.blocks.data();
      all.add(once, isKnown ? instruction.trips + isCondition : 1);
    }
  }
  return all;
}

void printExchange(const format::Index &index,
                   const format::EntryPoint &entry) {
  const Exchange exchange = exchangeOf(index, entry.program);
  std::printf("%s%lld collectives, in which rank 0 receives %lld bytes\n",
              exchange.isExact ? "" : "about ",
              static_cast<long long>(exchange.collectives),
              static_cast<long long>(exchange.bytes));
  if (exchange.combined > 0)
    std::printf("%lld of them are combined by %s, in an order of its own\n",
                static_cast<long long>(exchange.combined),
                exchange.library.c_str());
}

/// The arguments of an invocation of each callee that is invoked.
void findArguments(const format::Block &program,
                   std::map<uint32_t, std::vector<uint64_t>> &found) {
  for (const format::Instruction &instruction : program.instructions) {
    for (const format::Block &inner : instruction.blocks)
      findArguments(inner, found);
    if (instruction.kind != format::InstructionKind::invoke)
      continue;
    auto [arguments, isNew] = found.try_emplace(instruction.callee);
    for (const format::Slice &operand : instruction.operands)
      if (isNew)
        arguments->second.push_back(operand.bytes);
  }
}

/// What the host of a GPU computes, and what that takes there.
void printHostCalls(const format::Index &index) {
  std::map<uint32_t, std::vector<uint64_t>> arguments;
  for (const format::EntryPoint &entry : index.entryPoints)
    findArguments(entry.program, arguments);
  std::string calls;
  uint64_t most = 0;
  for (auto &[number, bytes] : arguments) {
    const format::Callee &callee = index.callees[number];
    if (!callee.onHost)
      continue;
    calls += "  " + callee.library + ": " + callee.description + "\n";
    most = std::max(most, libraries::pinnedBytes(bytes, callee.workspaceBytes));
  }
  if (!calls.empty())
    std::printf("\nthe host runs these calls, in %llu bytes of its memory that "
                "are pinned:\n%s",
                static_cast<unsigned long long>(most), calls.c_str());
}

/// What a run may set, with how to do so.
void printSettings(const format::Index &index) {
  std::string names;
  for (const format::Tensor &tensor : index.tensors)
    if (runtime::isSetting(tensor))
      names += (names.empty() ? "" : ", ") + tensor.name + " (" +
               std::string(name(tensor.type)) + ")";
  if (!names.empty())
    std::printf("\nsettings of a run (tenon run --set, --schedule): %s\n",
                names.c_str());
}

int fail(const std::string &why) {
  std::fprintf(stderr, "error: %s\n", why.c_str());
  return exitUserError;
}

/// What is shown of the code in a file.
struct CodeView {
  bool kernels = false;
  std::string ptx;    // the symbol of a kernel; empty for none
  std::string folder; // where code is written to; empty for nowhere

  bool any() const { return kernels || !ptx.empty() || !folder.empty(); }
};

void printGpuModule(const format::Index &index,
                    const format::GpuModule &module) {
  auto bytesOf = [&](size_t section) {
    return static_cast<unsigned long long>(
        section < index.sections.size() ? index.sections[section].bytes : 0);
  };
  std::printf("code for %s: %llu bytes of PTX, driver %u or later (CUDA "
              "%u.%u); ",
              module.architecture.c_str(), bytesOf(module.section),
              module.driver, module.cuda / 1000, module.cuda % 1000 / 10);
  if (module.hasBinary())
    std::printf("%llu bytes of machine code by ptxas %s\n",
                bytesOf(size_t(module.binary)), module.assembler.c_str());
  else
    std::printf("no machine code, the driver compiles the PTX\n");
}

/// What each kernel takes of a GPU: `-` where only an assembler would know.
void printGpuKernels(const format::Index &index,
                     const format::GpuModule &module) {
  std::printf("\nkernels for %s\n%-14s %-14s %9s %7s %9s %7s %6s %7s  %s\n",
              module.architecture.c_str(), "kernel", "schedule", "blocks",
              "threads", "registers", "shared", "stack", "spilled", "what");
  size_t number = 0;
  for (const format::Callee &callee : index.callees) {
    if (callee.kind != format::CalleeKind::kernel)
      continue;
    const format::Launch &launch = module.launches[number];
    std::string schedule;
    if (number < module.schedules.size())
      schedule = module.schedules[number];
    std::printf("%-14s %-14s %9u %7u", callee.name.c_str(),
                schedule.empty() ? "-" : schedule.c_str(), launch.blocks,
                launch.threads);
    if (module.hasBinary()) {
      const format::KernelResources &taken = module.resources[number];
      std::printf(" %9u %7u %6u %7u", taken.registers, taken.sharedBytes,
                  taken.stackBytes, taken.spillBytes);
    } else {
      std::printf(" %9s %7s %6s %7s", "-", "-", "-", "-");
    }
    std::printf("  %s\n", callee.description.c_str());
    ++number;
  }
}

/// The text of one kernel for each architecture.
int printPtx(const format::Reader &reader, const std::string &symbol) {
  const format::Index &index = reader.index();
  bool found = false;
  for (const format::GpuModule &module : index.gpuModules) {
    if (module.section >= index.sections.size())
      continue;
    const format::Section &section = index.sections[module.section];
    std::string text(section.bytes, '\0'), error;
    if (!reader.readSection(section, std::as_writable_bytes(std::span(text)),
                            error))
      return fail(error);
    size_t entry = text.find(".entry " + symbol + "(");
    if (entry == std::string::npos)
      continue;
    size_t begin = text.rfind('\n', entry) + 1, end = text.find("\n}", entry);
    std::printf("\n// %s for %s\n%s\n}\n", symbol.c_str(),
                module.architecture.c_str(),
                text.substr(begin, end - begin).c_str());
    found = true;
  }
  return found ? int(exitOk)
               : fail("the file has no PTX of a kernel '" + symbol +
                      "'; --kernels lists its kernels");
}

/// The code for each architecture as files of its name.
int writeCode(const format::Reader &reader, const std::string &folder) {
  const format::Index &index = reader.index();
  if (index.gpuModules.empty())
    return fail("the file has no code for GPUs");
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return fail("cannot make '" + folder + "': " + failed.message());
  for (const format::GpuModule &module : index.gpuModules)
    for (auto [number, ending] :
         {std::pair(int64_t(module.section), ".ptx"),
          std::pair(int64_t(module.binary), ".cubin")}) {
      if (number < 0 || number >= std::ssize(index.sections))
        continue;
      const format::Section &section = index.sections[size_t(number)];
      std::vector<std::byte> bytes(section.bytes);
      std::string error,
          file =
              folder + "/" +
              std::filesystem::path(module.architecture).filename().string() +
              ending;
      if (!reader.readSection(section, bytes, error) ||
          !format::writeFile(file, bytes, error))
        return fail(error);
      std::printf("wrote %s\n", file.c_str());
    }
  return exitOk;
}

/// What waits in the host's memory, and when its bytes begin to move there and,
/// the last time, back.
void printWaiting(const format::Index &index, const format::Plan &plan) {
  auto isOnHost = [&](int32_t value) {
    return value >= 0 &&
           format::isPinned(
               index,
               index.segments[plan.buffers[plan.values[value].buffer].segment]);
  };
  uint64_t saved = 0, loaded = 0;
  std::string rows;
  for (const format::PlannedOperation &save : plan.operations) {
    auto copy = std::ranges::find_if(save.writes, isOnHost);
    if (copy == save.writes.end())
      continue;
    const format::PlannedValue &value = plan.values[*copy];
    saved += value.bytes;
    int64_t last = save.begin;
    for (const format::PlannedOperation &load : plan.operations)
      if (std::ranges::count(load.reads, *copy)) {
        loaded += value.bytes;
        last = load.begin;
      }
    char size[24];
    std::snprintf(size, sizeof(size), "%14llu  ",
                  static_cast<unsigned long long>(value.bytes));
    std::string type = plan.texts[value.type];
    type.resize(std::max<size_t>(type.size(), 20), ' ');
    rows += size + type + " " + plan.texts[value.source] + "; waits from @" +
            std::to_string(save.begin) + " to @" + std::to_string(last) + "\n";
  }
  if (!rows.empty())
    std::printf("\nwaiting in the host's memory: %llu bytes move there and "
                "%llu back in each step\n%14s  %-20s %s\n%s",
                static_cast<unsigned long long>(saved),
                static_cast<unsigned long long>(loaded), "bytes", "type",
                "computed by", rows.c_str());
}

int inspectFile(const std::string &path, const CodeView &view) {
  std::string error;
  auto reader = format::Reader::open(path, error);
  if (!reader)
    return fail(error);
  const format::Index &index = reader->index();
  if (!view.ptx.empty())
    return printPtx(*reader, view.ptx);
  if (!view.folder.empty())
    return writeCode(*reader, view.folder);
  std::string devices;
  for (const format::DeviceClass &device : index.deviceClasses)
    devices += (devices.empty() ? "" : ", ") + device.architecture;
  if (!index.gpuModules.empty())
    devices = "a GPU from " + devices + " on";
  std::printf("%s: '%s' by %s, needs %s, subnormal numbers: %s\n\n",
              path.c_str(), index.name.c_str(), index.producer.c_str(),
              devices.c_str(), name(index.subnormals).data());
  if (!index.mesh.empty())
    std::printf("for %lld ranks (--mesh=%s); segments are those of each\n\n",
                static_cast<long long>(index.ranks()),
                format::meshText(index.mesh).c_str());
  std::printf("%-14s %14s\n", "segment", "bytes");
  for (const format::Segment &segment : index.segments)
    std::printf("%-14s %14llu\n",
                format::isPinned(index, segment) ? "host (pinned)"
                                                 : name(segment.kind).data(),
                static_cast<unsigned long long>(segment.bytes));
  for (const format::GpuModule &module : index.gpuModules)
    printGpuModule(index, module);
  auto count = [&](format::CalleeKind kind) {
    return std::ranges::count(index.callees, kind, &format::Callee::kind);
  };
  for (const format::EntryPoint &entry : index.entryPoints) {
    for (const format::Certificate &certificate : entry.certificates)
      std::printf("%s: %s\n", certificate.kind.c_str(),
                  certificate.text.c_str());
    std::printf("\nentry point '%s': %lld instructions, %td kernels, %td "
                "library calls\n",
                entry.name.c_str(),
                static_cast<long long>(countInstructions(entry.program)),
                count(format::CalleeKind::kernel),
                count(format::CalleeKind::library));
    if (!index.mesh.empty())
      printExchange(index, entry);
    if (entry.plan)
      printWaiting(index, *entry.plan);
  }
  printHostCalls(index);
  std::printf("\n%8s %8s %-16s %-20s %s\n", "argument", "result", "role",
              "type", "name");
  auto position = [](int64_t i) { return i < 0 ? "" : std::to_string(i); };
  for (const format::Tensor &tensor : index.tensors)
    std::printf("%8s %8s %-16s %-20s %s%s\n", position(tensor.argument).c_str(),
                position(tensor.result).c_str(), name(tensor.role).data(),
                shapeText(tensor).c_str(), tensor.name.c_str(),
                holdingText(index, tensor).c_str());
  printSettings(index);
  if (!view.kernels)
    return exitOk;
  for (const format::GpuModule &module : index.gpuModules)
    printGpuKernels(index, module);
  if (!index.gpuModules.empty())
    return exitOk;
  std::printf("\n");
  for (const format::Callee &callee : index.callees)
    if (callee.kind == format::CalleeKind::kernel)
      std::printf("%-14s %s\n", callee.name.c_str(),
                  callee.description.c_str());
  return exitOk;
}

} // namespace

int tool::runInspect(Arguments arguments, Modules *modules) {
  ModuleOptions module;
  bool json = false;
  CodeView code;
  ArgumentParser parser("inspect",
                        "Shows the arguments of an exported module and how "
                        "Tenon found their roles, or what a .tenon file "
                        "holds.",
                        "FILE");
  parser.text("roles", module.rolesFile, "FILE",
              "for a module: a roles file (see docs/GettingStarted.md)");
  parser.text("function", module.function, "NAME",
              "for a module: the function that is the step (default: main)");
  parser.flag("json", json, "for a module: print the table as JSON");
  parser.flag("kernels", code.kernels,
              "for a .tenon file: list its kernels; of GPUs what each takes");
  parser.text("ptx", code.ptx, "KERNEL",
              "for a .tenon file: print the PTX of a kernel");
  parser.text("write-code", code.folder, "FOLDER",
              "for a .tenon file: write its PTX and machine code for GPUs");
  PrecisionView formats;
  parser.custom(
      "precision", "",
      "for a module: list the formats of --precision=bf16 (=f16, =tf32), "
      "and why",
      [&formats](std::string_view policy) -> std::string {
        formats.table = true;
        if (!policy.empty())
          formats.policy = policy;
        return formats.policy == "bf16" || formats.policy == "f16" ||
                       formats.policy == "tf32"
                   ? ""
                   : "expected bf16, f16 or tf32";
      },
      {"bf16", "f16", "tf32"});
  parser.text("precision-policy", formats.policyFile, "FILE",
              "with --precision: JSON that says what is kept in f32 or may be "
              "narrow");
  parser.text("cpu", formats.cpu, "SET",
              "with --precision: what is compiled for (default: host)");
  MemoryView view;
  parser.flag("memory", view.table,
              "for a .tenon file: list what is in memory at the peak, and why");
  parser.number("rows", view.rows, "N",
                "with --memory: list the N largest values (default: 30)");
  parser.text(
      "memory-picture", view.picture, "FILE.svg",
      "for a .tenon file: draw which temporaries are in memory over time");
  parser.examples("tenon inspect step.mlir\n"
                  "tenon inspect step.mlir --precision=bf16\n"
                  "tenon inspect step.tenon --memory --rows=10\n");
  std::vector<std::string> files;
  if (auto code = parser.parse(arguments, files))
    return *code;
  bool isFile = files.front().ends_with(".tenon") ||
                format::isCompiledFile(files.front()),
       showsMemory = view.any();
  if (isFile && !showsMemory && !formats.table)
    return inspectFile(files.front(), code);
  if (!isFile && code.any()) {
    std::fprintf(stderr, "error: --kernels, --ptx and --write-code show the "
                         "code in a .tenon file; compile the module first\n");
    return exitBadUsage;
  }
  if (!isFile && showsMemory) {
    std::fprintf(stderr, "error: --memory and --memory-picture show the plan "
                         "in a .tenon file; compile the module first\n");
    return exitBadUsage;
  }
  if (isFile && formats.table) {
    std::fprintf(stderr, "error: --precision shows what is chosen for a "
                         "module; a .tenon file holds no formats\n");
    return exitBadUsage;
  }
  if (!modules)
    return callCompiler("inspect", arguments);
  if (formats.table)
    return modules->inspectPrecision(files.front(), module, formats);
  if (isFile)
    return modules->inspectMemory(files.front(), view);
  return modules->inspect(files.front(), module, json);
}
