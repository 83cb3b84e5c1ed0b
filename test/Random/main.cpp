//===- main.cpp - Random programs, interpreted and compiled --------------===//
//
//   TenonRandom generate FIRST COUNT [--attention]    prints a module
//   TenonRandom check FILE [--cpu=C] [--fuse=false] [--no-libraries]
//                     [--subnormals=keep|flush] [--precision=P]
//                     [--target=A [--cuda-driver=FILE]]
//   TenonRandom run FIRST LAST [--attention] [--precision=P] [--keep=FOLDER]
//                     [--results=FILE] [--target=A,A [--cuda-driver=FILE]]
//
// With --attention, programs are made of attention and its gradient alone. With
// --precision, what is judged is the step that lowering leaves, with all in 16
// bits that may be; `check` takes steps with arguments then.
// With --target=sm_90, code is for a GPU, the emulated one of the build unless
// a driver is named. `run` checks programs FIRST to LAST - 1 in modules of 200,
// each in a process of its own, with the feature set and grouping that the
// module's number says, or of GPUs the architecture, of several, the treatment
// of subnormal numbers, and whether the library is called. Programs that fail
// are checked alone, reduced with tenon-reduce, and kept. Exits with 1 if any
// fails. Each module's outcome is a line of FILE; modules that are there
// already are not run again.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "OnGpu.h"
#include "Program.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>

using namespace tenon::random;
using llvm::StringRef;

namespace {

constexpr uint64_t programsPerModule = 200;
constexpr unsigned secondsPerModule = 600;

int usage() {
  llvm::errs()
      << "usage:\n"
         "  TenonRandom generate FIRST COUNT [--attention]\n"
         "  TenonRandom check FILE [--cpu=C] [--fuse=false] [--no-libraries]\n"
         "                    [--subnormals=keep|flush] [--precision=P]\n"
         "                    [--target=A [--cuda-driver=FILE]]\n"
         "  TenonRandom run FIRST LAST [--attention] [--precision=P] "
         "[--keep=FOLDER]\n"
         "                    [--results=FILE] [--target=A,A "
         "[--cuda-driver=FILE]]\n";
  return 2;
}

int check(const std::string &file, const CheckOptions &options) {
  CheckResult result = checkModule(file, options);
  if (!result.failure.empty()) {
    llvm::outs() << file << ": " << result.failure << "\n";
    return 1;
  }
  for (const std::string &difference : result.differences)
    llvm::outs() << difference << "\n";
  llvm::outs() << result.equal << " equal, " << result.bounded << " bounded, "
               << result.unjudged << " unjudged results, "
               << result.differences.size() << " differences\n";
  return result.differences.empty() ? 0 : 1;
}

class Runner {
public:
  Runner(Subject subject, std::string precision,
         std::vector<std::string> architectures, std::string cudaDriver,
         std::string self, std::string folder, std::string results)
      : subject(subject), precision(std::move(precision)),
        architectures(std::move(architectures)),
        cudaDriver(std::move(cudaDriver)), self(std::move(self)),
        folder(std::move(folder)), results(std::move(results)) {}

  int run(uint64_t first, uint64_t last) {
    uint64_t failed = 0;
    for (uint64_t at = first; at < last; at += programsPerModule) {
      uint64_t count = std::min(programsPerModule, last - at);
      std::optional<uint64_t> known = recorded(at, count);
      if (!known)
        record(at, count, *(known = failing(at, count)));
      failed += *known;
    }
    llvm::outs() << "programs " << first << " to " << last - 1 << ": " << failed
                 << " failed\n";
    return failed ? 1 : 0;
  }

private:
  /// How many programs of a module fail; 1 if they do only together.
  uint64_t failing(uint64_t first, uint64_t count) {
    if (passes(first, count))
      return 0;
    uint64_t alone = 0;
    for (uint64_t number = first; number < first + count; ++number)
      if (!passes(number, 1, first)) {
        ++alone;
        keep(number, 1, first);
      }
    if (alone == 0)
      keep(first, count, first);
    return std::max<uint64_t>(alone, 1);
  }

  static std::string lineOf(uint64_t first, uint64_t count) {
    return "programs " + std::to_string(first) + " to " +
           std::to_string(first + count - 1) + ": ";
  }

  /// What the file of results says of a module.
  std::optional<uint64_t> recorded(uint64_t first, uint64_t count) const {
    auto file = llvm::MemoryBuffer::getFile(results, /*IsText=*/true);
    if (results.empty() || !file)
      return std::nullopt;
    for (llvm::line_iterator line(**file); !line.is_at_eof(); ++line) {
      StringRef rest = *line;
      uint64_t failed;
      if (rest.consume_front(lineOf(first, count)) &&
          !rest.split(' ').first.getAsInteger(10, failed))
        return failed;
    }
    return std::nullopt;
  }

  void record(uint64_t first, uint64_t count, uint64_t failed) const {
    if (results.empty())
      return;
    std::error_code error;
    llvm::raw_fd_ostream out(results, error, llvm::sys::fs::OF_Append);
    out << lineOf(first, count) << failed << " failed\n";
    if (error)
      llvm::errs() << "error: cannot write '" << results << "'\n";
  }

  std::string fileOf(uint64_t first, uint64_t count) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "programs-" + std::to_string(first) +
                                      (count == 1 ? "" : "-module") + ".mlir");
    return path.str().str();
  }

  /// The settings depend on the number of the module a program is in.
  std::vector<std::string> commandFor(const std::string &file,
                                      uint64_t module) const {
    static constexpr std::array<StringRef, 4> cpus = {"host", "x86-64-v3",
                                                      "host", "x86-64-v4"};
    uint64_t number = module / programsPerModule;
    std::vector<std::string> command = {self, "check", file};
    if (architectures.empty()) {
      command.push_back("--cpu=" + cpus[number % 4].str());
    } else {
      command.push_back("--target=" +
                        architectures[number % architectures.size()]);
      command.push_back("--cuda-driver=" + cudaDriver);
      command.push_back(number % 4 < 2 ? "--subnormals=keep"
                                       : "--subnormals=flush");
      if (number % 2 == 1)
        command.push_back("--no-libraries");
    }
    if (number % 5 == 4)
      command.push_back("--fuse=false");
    if (!precision.empty())
      command.push_back("--precision=" + precision);
    return command;
  }

  bool passes(uint64_t first, uint64_t count, uint64_t module) {
    std::string file = fileOf(first, count);
    std::error_code error;
    llvm::raw_fd_ostream out(file, error);
    if (error) {
      llvm::errs() << "error: cannot write '" << file << "'\n";
      exit(1);
    }
    out << randomModule(first, count, subject);
    out.close();
    std::vector<std::string> command = commandFor(file, module);
    std::vector<StringRef> arguments(command.begin(), command.end());
    int code = llvm::sys::ExecuteAndWait(self, arguments, std::nullopt, {},
                                         secondsPerModule);
    if (code == 0)
      llvm::sys::fs::remove(file);
    return code == 0;
  }
  bool passes(uint64_t first, uint64_t count) {
    return passes(first, count, first);
  }

  /// Reduces a module that fails and says where it is.
  void keep(uint64_t first, uint64_t count, uint64_t module) {
    std::string file = fileOf(first, count);
    std::string reduced = file.substr(0, file.size() - 5) + ".reduced.mlir";
    std::vector<std::string> command = commandFor("{}", module);
    std::string reducer =
        (llvm::sys::path::parent_path(self) + "/tenon-reduce").str();
    std::string test =
        "--test=! (" + llvm::join(command, " ") + ") >/dev/null 2>&1";
    int code = llvm::sys::ExecuteAndWait(
        reducer, {reducer, file, test, "-o", reduced}, std::nullopt, {}, 600);
    llvm::outs() << "failed: " << (code == 0 ? reduced : file) << " with";
    for (const std::string &word : llvm::ArrayRef(command).drop_front(3))
      llvm::outs() << " " << word;
    llvm::outs() << "\n";
  }

  Subject subject;
  std::string precision;
  std::vector<std::string> architectures; // of GPUs; none for the processor
  std::string cudaDriver, self, folder, results;
};

/// The policy of a name as `tenon compile` takes it.
std::optional<tenon::driver::Precision> precisionOf(StringRef name) {
  using tenon::driver::Precision;
  return llvm::StringSwitch<std::optional<Precision>>(name)
      .Case("f32", Precision::f32)
      .Case("bf16", Precision::bf16)
      .Case("bf16-state", Precision::bf16State)
      .Case("f16", Precision::f16)
      .Default(std::nullopt);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  std::vector<std::string> words;
  CheckOptions options;
  std::string folder = ".", results, precision;
  Subject subject = Subject::operations;
  for (int i = 1; i < argc; ++i) {
    StringRef word = argv[i];
    if (word.consume_front("--cpu="))
      options.cpu = word.str();
    else if (word.consume_front("--subnormals="))
      options.subnormals =
          word == "keep" ? tenon::Subnormals::keep : tenon::Subnormals::flush;
    else if (word.consume_front("--keep="))
      folder = word.str();
    else if (word.consume_front("--results="))
      results = word.str();
    else if (word.consume_front("--target="))
      options.architecture = word.str();
    else if (word.consume_front("--cuda-driver="))
      options.cudaDriver = word.str();
    else if (word.consume_front("--precision=")) {
      auto known = precisionOf(word);
      if (!known)
        return usage();
      options.precision = *known;
      precision = word.str();
    } else if (word == "--fuse=false")
      options.fuse = false;
    else if (word == "--attention")
      subject = Subject::attention;
    else if (word == "--no-libraries")
      options.noLibraries = true;
    else if (word.starts_with("--"))
      return usage();
    else
      words.push_back(word.str());
  }
  std::string self = llvm::sys::fs::getMainExecutable(argv[0], (void *)usage);
  if (options.cudaDriver.empty())
    options.cudaDriver = emulatedDriver(self);
  if (!options.architecture.empty() && !precision.empty())
    return usage();
  uint64_t first = 0, second = 0;
  if (words.size() == 2 && words[0] == "check")
    return check(words[1], options);
  if (words.size() != 3 || StringRef(words[1]).getAsInteger(10, first) ||
      StringRef(words[2]).getAsInteger(10, second))
    return usage();
  if (words[0] == "generate") {
    llvm::outs() << randomModule(first, second, subject);
    return 0;
  }
  if (words[0] != "run" || llvm::sys::fs::create_directories(folder))
    return usage();
  llvm::SmallVector<StringRef> names;
  StringRef(options.architecture)
      .split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::vector<std::string> architectures(names.begin(), names.end());
  return Runner(subject, precision, architectures, options.cudaDriver, self,
                folder, results)
      .run(first, second);
}
