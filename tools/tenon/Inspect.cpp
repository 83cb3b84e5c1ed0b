//===- Inspect.cpp - tenon inspect ----------------------------------------===//
//
// Prints the arguments of a module, or what a .tenon file holds.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/Modules.h"

#include "tenon/Format/Holding.h"
#include "tenon/Format/Reader.h"
#include "tenon/Runtime/Settings.h"
#include "tenon/Support/ExitCode.h"

#include <algorithm>
#include <cstdio>

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

int inspectFile(const std::string &path, bool kernels) {
  std::string error;
  auto reader = format::Reader::open(path, error);
  if (!reader) {
    std::fprintf(stderr, "error: %s\n", error.c_str());
    return exitUserError;
  }
  const format::Index &index = reader->index();
  std::string devices;
  for (const format::DeviceClass &device : index.deviceClasses)
    devices += (devices.empty() ? "" : ", ") + device.architecture;
  if (!index.gpuModules.empty())
    devices = "a GPU from " + devices + " on";
  std::printf("%s: '%s' by %s, needs %s, subnormal numbers: %s\n\n",
              path.c_str(), index.name.c_str(), index.producer.c_str(),
              devices.c_str(), name(index.subnormals).data());
  std::printf("%-14s %14s\n", "segment", "bytes");
  for (const format::Segment &segment : index.segments)
    std::printf("%-14s %14llu\n", name(segment.kind).data(),
                static_cast<unsigned long long>(segment.bytes));
  for (const format::GpuModule &module : index.gpuModules)
    std::printf("code for %s: %llu bytes of PTX, driver %u or later (CUDA "
                "%u.%u)\n",
                module.architecture.c_str(),
                static_cast<unsigned long long>(
                    module.section < index.sections.size()
                        ? index.sections[module.section].bytes
                        : 0),
                module.driver, module.cuda / 1000, module.cuda % 1000 / 10);
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
  }
  std::printf("\n%8s %8s %-16s %-20s %s\n", "argument", "result", "role",
              "type", "name");
  auto position = [](int64_t i) { return i < 0 ? "" : std::to_string(i); };
  for (const format::Tensor &tensor : index.tensors)
    std::printf("%8s %8s %-16s %-20s %s%s\n", position(tensor.argument).c_str(),
                position(tensor.result).c_str(), name(tensor.role).data(),
                shapeText(tensor).c_str(), tensor.name.c_str(),
                holdingText(index, tensor).c_str());
  printSettings(index);
  if (!kernels)
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
  bool json = false, kernels = false;
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
  parser.flag("kernels", kernels, "for a .tenon file: list its kernels");
  PrecisionView formats;
  parser.custom("precision", "",
                "for a module: list the formats of --precision=bf16 (=f16: of "
                "that), and why",
                [&formats](std::string_view policy) -> std::string {
                  formats.table = true;
                  formats.isF16 = policy == "f16";
                  return policy.empty() || policy == "bf16" || formats.isF16
                             ? ""
                             : "expected bf16 or f16";
                });
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
  std::vector<std::string> files;
  if (auto code = parser.parse(arguments, files))
    return *code;
  bool isFile = files.front().ends_with(".tenon"), showsMemory = view.any();
  if (isFile && !showsMemory && !formats.table)
    return inspectFile(files.front(), kernels);
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
