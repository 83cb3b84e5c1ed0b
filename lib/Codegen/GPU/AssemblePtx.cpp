//===- AssemblePtx.cpp - PTX to a GPU's machine code ----------------------===//
//
// See AssemblePtx.h. The assembler reads and writes files, in a folder that is
// removed again.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/GPU/AssemblePtx.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace tenon::codegen {

/// Where the package puts it below a folder of Python packages.
static constexpr StringLiteral inPackages = "nvidia/cu13/bin/ptxas";

static std::string readWhole(StringRef file) {
  auto buffer = MemoryBuffer::getFile(file);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// In the folder `lib/python3.*/site-packages` of a virtual environment.
static std::string inEnvironment(StringRef environment) {
  SmallString<256> libraries(environment);
  sys::path::append(libraries, "lib");
  std::error_code none;
  for (sys::fs::directory_iterator each(libraries, none), end;
       !none && each != end; each.increment(none)) {
    SmallString<256> file(each->path());
    sys::path::append(file, "site-packages", inPackages);
    if (sys::path::filename(each->path()).starts_with("python3") &&
        sys::fs::can_execute(file))
      return file.str().str();
  }
  return "";
}

/// An installed package lies in a folder of packages, a build in a checkout
/// with an environment.
static std::string besideExecutable() {
  static int here;
  std::string executable = sys::fs::getMainExecutable("", &here);
  constexpr int mostLevels = 4;
  StringRef folder = executable;
  for (int level = 0; level < mostLevels; ++level) {
    folder = sys::path::parent_path(folder);
    SmallString<256> packaged(folder), environment(folder);
    sys::path::append(packaged, inPackages);
    sys::path::append(environment, ".venv");
    if (sys::fs::can_execute(packaged))
      return packaged.str().str();
    if (std::string found = inEnvironment(environment); !found.empty())
      return found;
  }
  return "";
}

/// A folder for one run of the assembler.
class Scratch {
public:
  Scratch() { failed = sys::fs::createUniqueDirectory("tenon-ptxas", folder); }
  ~Scratch() {
    if (!failed)
      sys::fs::remove_directories(folder);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  std::string file(StringRef name) const {
    SmallString<256> path(folder);
    sys::path::append(path, name);
    return path.str().str();
  }

  std::error_code failed;

private:
  SmallString<128> folder;
};

/// What a program prints, if it can be run and ends with 0. Otherwise `error`
/// says why not.
static std::optional<std::string> runProgram(const std::string &program,
                                             std::vector<std::string> arguments,
                                             const Scratch &scratch,
                                             std::string &error) {
  std::string said = scratch.file("said");
  arguments.insert(arguments.begin(), program);
  std::vector<StringRef> references(arguments.begin(), arguments.end());
  // An empty name is /dev/null.
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(said),
                                          StringRef(said)};
  std::string reason;
  int code =
      sys::ExecuteAndWait(program, references, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &reason);
  std::string text = readWhole(said);
  if (code == 0)
    return text;
  error = "'" + program + "' " +
          (reason.empty() ? "ended with exit code " + std::to_string(code)
                          : "cannot be run: " + reason);
  if (StringRef shown = StringRef(text).trim(); !shown.empty())
    error += ": " + shown.str();
  return std::nullopt;
}

std::optional<Assembler> findAssembler(StringRef file, std::string &error) {
  Assembler found{file.str(), ""};
  if (found.file.empty())
    found.file = besideExecutable();
  if (found.file.empty())
    if (auto onPath = sys::findProgramByName("ptxas"))
      found.file = *onPath;
  if (found.file.empty())
    return std::nullopt;
  Scratch scratch;
  if (scratch.failed) {
    error = "no folder for temporary files: " + scratch.failed.message();
    return std::nullopt;
  }
  auto said = runProgram(found.file, {"--version"}, scratch, error);
  if (!said)
    return std::nullopt;
  SmallVector<StringRef> matches;
  if (!Regex("ptxas: NVIDIA.*release [0-9.]+, V([0-9.]+)", Regex::NoFlags)
           .match(*said, &matches)) {
    error = "'" + found.file + "' is not NVIDIA's assembler ptxas";
    return std::nullopt;
  }
  found.version = matches[1].str();
  return found;
}

/// `-v` prints of each kernel its name and then what it takes, in two lines.
MachineCode machineCodeOf(const Assembler &assembler, StringRef report) {
  static Regex name("Function properties for ([A-Za-z0-9_$.]+)"),
      memory("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, "
             "([0-9]+) bytes spill loads"),
      registers("Used ([0-9]+) registers"), shared("([0-9]+) bytes smem"),
      warning("warning *: *(.*)");
  auto number = [](StringRef digits) {
    int64_t value = 0;
    (void)digits.getAsInteger(10, value);
    return value;
  };
  MachineCode code;
  code.assembler = assembler.version;
  code.report = report.str();
  KernelResources *kernel = nullptr;
  SmallVector<StringRef> found;
  for (StringRef line : split(report, '\n')) {
    if (warning.match(line, &found))
      code.warnings.push_back(found[1].str());
    else if (name.match(line, &found))
      kernel = &code.resources[found[1]];
    if (!kernel)
      continue;
    if (memory.match(line, &found)) {
      kernel->stackBytes = number(found[1]);
      kernel->spillBytes = number(found[2]) + number(found[3]);
    } else if (registers.match(line, &found)) {
      kernel->registers = number(found[1]);
      if (shared.match(line, &found))
        kernel->sharedBytes = number(found[1]);
    }
  }
  return code;
}

std::optional<MachineCode>
assemblePtx(StringRef text, const target::GpuArchitecture &architecture,
            const Assembler &assembler, std::string &error) {
  Scratch scratch;
  if (scratch.failed) {
    error = "no folder for temporary files: " + scratch.failed.message();
    return std::nullopt;
  }
  std::string source = scratch.file("kernels.ptx"),
              output = scratch.file("kernels.cubin");
  {
    std::error_code failed;
    raw_fd_ostream stream(source, failed);
    if (!failed) {
      stream << text;
      stream.close();
      failed = stream.error();
    }
    if (failed) {
      error = "cannot write '" + source + "': " + failed.message();
      stream.clear_error();
      return std::nullopt;
    }
  }
  std::vector<std::string> arguments = {"-arch=" +
                                        std::string(architecture.name)};
  for (StringRef flag : split(assemblerFlags, ' '))
    arguments.push_back(flag.str());
  for (const std::string &each : {source, std::string("-o"), output})
    arguments.push_back(each);
  auto report = runProgram(assembler.file, arguments, scratch, error);
  if (!report)
    return std::nullopt;
  MachineCode code = machineCodeOf(assembler, *report);
  std::string binary = readWhole(output);
  if (!StringRef(binary).starts_with("\177ELF")) {
    error = "'" + assembler.file + "' wrote no code";
    return std::nullopt;
  }
  code.binary.assign(binary.begin(), binary.end());
  return code;
}

} // namespace tenon::codegen
