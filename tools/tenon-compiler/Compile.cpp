//===- Compile.cpp - tenon compile ---------------------------------------===//
//
// Turns an exported training step into a .tenon file, or stops at a stage.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/Commands.h"
#include "tools/tenon-compiler/PlanningOptions.h"
#include "tools/tenon/ArgumentParser.h"

#include "tenon/Driver/Compiler.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace tenon;
using namespace tenon::tool;

int tool::runCompile(Arguments arguments, Modules *) {
  driver::CompileOptions options;
  int64_t threads = 0;
  const driver::Walk &walk = driver::walkTo(driver::OutputTarget::cpu);
  auto stage = [&walk](std::string &into) {
    return [&](std::string_view name) -> std::string {
      into = name;
      return driver::findForm(walk, name)
                 ? ""
                 : "expected one of " + driver::formNames(walk);
    };
  };
  std::vector<std::string> forms;
  for (const driver::Stage &known : walk)
    if (!known.form.empty())
      forms.push_back(known.name.str());
  ArgumentParser parser(
      "compile",
      "Compiles an exported training step (StableHLO text) into a .tenon "
      "file, or up to a stage.",
      "FILE.mlir");
  parser.text("output", options.output, "FILE",
              "the file to write; - means standard output (also -o)");
  parser.custom("target", "TARGET",
                "cpu (default), GPUs (sm_90 or sm_80,sm_90), or stablehlo, "
                "text for XLA",
                [&](std::string_view name) -> std::string {
                  if (name == "stablehlo") {
                    options.target = driver::OutputTarget::stablehlo;
                    return "";
                  }
                  std::string error = readDevices(name, options);
                  return error.empty()
                             ? ""
                             : "expected cpu, stablehlo, or GPUs: " + error;
                },
                {"cpu", "stablehlo", "sm_80", "sm_90"});
  parser.flag("generic", options.generic,
              "with --target=stablehlo: write MLIR's generic form, which more "
              "versions can read");
  parser.text("ptxas", options.ptxas, "FILE",
              "for GPUs: NVIDIA's assembler, for machine code too "
              "(default: an installed one)");
  parser.flag("no-cubins", options.noCubins,
              "for GPUs: no machine code beside the PTX, even if ptxas is "
              "installed");
  // Unlike the option, the variable says nothing of this command, so a target
  // without code does not refuse it.
  if (const char *folder = std::getenv("TENON_KERNEL_CACHE"))
    options.usualKernelCache = folder;
  parser.text("kernel-cache", options.kernelCache, "FOLDER",
              "keep code of kernels here for later, about 1.5 GiB at most; none "
              "for none");
  takePlanningOptions(parser, options,
                      "the most memory to use, such as 1.6GiB, or smallest; "
                      "the rest is computed again");
  parser.flag("offload", options.offload,
              "for GPUs, with --memory-budget: values may also wait in the "
              "host's memory");
  parser.custom(
      "entry", "NAME=FILE.mlir",
      "a further entry point, such as an evaluation, that reads the "
      "step's state",
      [&](std::string_view text) -> std::string {
        size_t equals = text.find('=');
        if (equals == std::string_view::npos || equals + 1 == text.size())
          return "expected a name and a module, such as "
                 "eval=eval.mlir";
        std::string name(text.substr(0, equals));
        if (std::string wrong = driver::whyNoEntryName(name); !wrong.empty())
          return wrong;
        for (const driver::EntryOption &other : options.entries)
          if (other.name == name)
            return "the name is given twice";
        options.entries.push_back({name, std::string(text.substr(equals + 1))});
        return "";
      });
  std::string also;
  parser.text("also", also, "FILE.mlir",
              "with --memory-budget: the step at another batch size, to "
              "estimate what fits");
  parser.custom("compile-to", "STAGE",
                "stop after this stage and write readable text",
                stage(options.to), forms);
  parser.custom("compile-from", "STAGE",
                "continue from the text that --compile-to=STAGE wrote; its "
                "options are in the text",
                stage(options.from), forms);
  parser.text("report", options.reportFile, "FILE",
              "write as JSON what each stage did and how long it took");
  parser.text(
      "remarks", options.remarks, "REGEX",
      "print what the passes did and decided against whose flags match");
  parser.number("threads", threads, "N",
                "threads for planning and code generation (default: one per "
                "processor)");
  parser.flag("fuse", options.fuse,
              "merge operations into kernels (default: true)");
  parser.flag("verify-forms", options.verifyForms,
              "check after every stage that the module has the stage's form");
  std::string stages = "stages, in order:\n";
  for (const driver::Stage &known : walk)
    if (!known.form.empty())
      stages += llvm::formatv("  {0,-10}{1,-16}{2}\n", known.name, known.form,
                              known.summary);
  parser.notes(stages);
  parser.examples(
      "tenon compile step.mlir -o step.tenon --cpu=x86-64-v3\n"
      "tenon compile step.mlir -o step.tenon --memory-budget=2GiB "
      "--entry=eval=eval.mlir\n"
      "tenon compile step.mlir -o for-xla.mlir --target=stablehlo\n");
  std::vector<std::string> inputs;
  if (auto code = parser.parse(arguments, inputs))
    return *code;
  options.input = inputs.front();
  options.threads = threads;
  bool isText = options.target == driver::OutputTarget::stablehlo;
  if (options.noCubins && !options.ptxas.empty()) {
    llvm::errs() << "error: --no-cubins leaves out what --ptxas makes; pass "
                    "one of them\n";
    return exitBadUsage;
  }
  if (options.generic && !isText) {
    llvm::errs() << "error: --generic works only with --target=stablehlo\n";
    return exitBadUsage;
  }
  if (options.output.empty()) {
    if (options.to.empty() && !isText) {
      llvm::errs() << "error: no output file was given; pass -o OUT.tenon\n";
      return exitBadUsage;
    }
    options.output = "-";
  }
  if (also.empty())
    return driver::compileToFile(options, llvm::outs());
  if (!options.memoryBudget ||
      *options.memoryBudget == driver::smallestBudget) {
    llvm::errs() << "error: --also needs --memory-budget=SIZE; `tenon plan "
                    "--also` works without a budget\n";
    return exitBadUsage;
  }
  ExitCode code = driver::compileToFile(options, llvm::outs());
  if (code != exitOk && code != exitNoPlan)
    return code;
  ExitCode fitted = driver::planBatches(options, also, llvm::outs());
  return fitted == exitOk ? code : fitted;
}
