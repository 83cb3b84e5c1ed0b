//===- LinkSharedObject.cpp - Object code to one shared object ------------===//
//
// Runs lld inside the process on files in memory. When kernels call libm, the
// link is done against a stand-in for it, made on the spot from the table of
// allowed functions with the version each symbol has in glibc: the result is
// the same on every build machine, and needs glibc 2.29 where it is loaded.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/LinkSharedObject.h"
#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace mlir;

namespace tenon::codegen {

static constexpr StringLiteral glibcFirst = "GLIBC_2.2.5";
static constexpr StringLiteral glibcNewer = "GLIBC_2.29";

static constexpr LibraryFunction libraryFunctions[] = {
    {"acos", 1, glibcFirst},   {"acosh", 1, glibcFirst},
    {"asin", 1, glibcFirst},   {"asinh", 1, glibcFirst},
    {"atan", 1, glibcFirst},   {"atan2", 2, glibcFirst},
    {"atanh", 1, glibcFirst},  {"cbrt", 1, glibcFirst},
    {"cos", 1, glibcFirst},    {"cosh", 1, glibcFirst},
    {"erf", 1, glibcFirst},    {"erfc", 1, glibcFirst},
    {"exp", 1, glibcNewer},    {"exp2", 1, glibcNewer},
    {"expm1", 1, glibcFirst},  {"fmod", 2, glibcFirst},
    {"lgamma", 1, glibcFirst}, {"log", 1, glibcNewer},
    {"log1p", 1, glibcFirst},  {"log2", 1, glibcNewer},
    {"pow", 2, glibcNewer},    {"sin", 1, glibcFirst},
    {"sinh", 1, glibcFirst},   {"tan", 1, glibcFirst},
    {"tanh", 1, glibcFirst},
};

ArrayRef<LibraryFunction> allowedLibraryFunctions() { return libraryFunctions; }

//===----------------------------------------------------------------------===//
// Files in memory
//===----------------------------------------------------------------------===//

namespace {

/// A file that only this process sees, with a path to open it by.
class MemoryFile {
public:
  explicit MemoryFile(const char *name)
      : descriptor(memfd_create(name, MFD_CLOEXEC)) {}
  MemoryFile(MemoryFile &&other)
      : descriptor(std::exchange(other.descriptor, -1)) {}
  ~MemoryFile() {
    if (descriptor >= 0)
      close(descriptor);
  }

  bool isOpen() const { return descriptor >= 0; }
  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

  bool write(ArrayRef<char> bytes) {
    while (!bytes.empty()) {
      ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return false;
      bytes = bytes.drop_front(written);
    }
    return true;
  }

private:
  int descriptor;
};

} // namespace

//===----------------------------------------------------------------------===//
// Undefined symbols
//===----------------------------------------------------------------------===//

/// The global symbols the objects need and do not define, in order of first
/// use. Fails with a diagnostic on an unreadable object or a double definition.
static FailureOr<llvm::SetVector<StringRef>>
findUndefinedSymbols(ArrayRef<std::unique_ptr<llvm::object::ObjectFile>> files,
                     llvm::function_ref<InFlightDiagnostic()> emitError) {
  using llvm::object::SymbolRef;
  llvm::SetVector<StringRef> undefined;
  llvm::StringMap<bool> defined;
  for (const auto &file : files) {
    for (const SymbolRef &symbol : file->symbols()) {
      llvm::Expected<uint32_t> flags = symbol.getFlags();
      llvm::Expected<StringRef> name = symbol.getName();
      if (!flags || !name) {
        llvm::consumeError(flags.takeError());
        llvm::consumeError(name.takeError());
        emitError() << "an object file has an unreadable symbol";
        return failure();
      }
      if (name->empty() || !(*flags & SymbolRef::SF_Global))
        continue;
      if (*flags & SymbolRef::SF_Undefined) {
        undefined.insert(*name);
      } else if (!defined.try_emplace(*name).second &&
                 !(*flags & SymbolRef::SF_Weak)) {
        emitError() << "kernel symbol '" << *name
                    << "' is defined by two object files, expected one";
        return failure();
      }
    }
  }
  undefined.remove_if([&](StringRef name) { return defined.contains(name); });
  return undefined;
}

static const LibraryFunction *findLibraryFunction(StringRef name) {
  const auto *found = llvm::lower_bound(
      libraryFunctions, name,
      [](const LibraryFunction &a, StringRef b) { return a.name < b; });
  return found != std::end(libraryFunctions) && found->name == name ? found
                                                                    : nullptr;
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

static FailureOr<SmallVector<char, 0>>
runLinker(ArrayRef<std::string> extra, ArrayRef<std::string> inputs,
          llvm::function_ref<InFlightDiagnostic()> emitError) {
  // The linker writes beside the output and renames, so the output has to be a
  // file with a name.
  SmallString<128> outputPath;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile(
          "tenon-kernels", "so", outputPath)) {
    emitError() << "no temporary file for the linked kernels: "
                << error.message();
    return failure();
  }
  llvm::FileRemover remover(outputPath);
  SmallVector<const char *> arguments = {"ld.lld",
                                         "-shared",
                                         "-z",
                                         "defs",
                                         "-z",
                                         "noexecstack",
                                         "--hash-style=gnu",
                                         "--build-id=none",
                                         "--threads=1",
                                         "-o",
                                         outputPath.c_str()};
  for (const std::string &text : extra)
    arguments.push_back(text.c_str());
  for (const std::string &text : inputs)
    arguments.push_back(text.c_str());

  // The linker keeps its state in one place per process.
  static std::mutex oneAtATime;
  std::string messages;
  bool linked;
  {
    std::lock_guard lock(oneAtATime);
    llvm::raw_string_ostream stream(messages);
    linked = lld::elf::link(arguments, stream, stream, /*exitEarly=*/false,
                            /*disableOutput=*/false);
    lld::CommonLinkerContext::destroy();
  }
  auto bytes = llvm::MemoryBuffer::getFile(outputPath, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!linked || !bytes) {
    emitError() << "the kernels could not be linked: "
                << StringRef(messages).trim();
    return failure();
  }
  StringRef image = (*bytes)->getBuffer();
  return SmallVector<char, 0>(image.begin(), image.end());
}

/// A shared object named libm.so.6 that defines `functions`, with their
/// versions and without code: a linker script says all that.
static FailureOr<SmallVector<char, 0>>
buildLibraryStandIn(ArrayRef<const LibraryFunction *> functions,
                    llvm::function_ref<InFlightDiagnostic()> emitError) {
  llvm::MapVector<StringRef, std::string> versions;
  std::string script;
  for (const LibraryFunction *function : functions) {
    versions[function->version] += function->name.str() + "; ";
    script += function->name.str() + " = 0;\n";
  }
  script += "VERSION {\n";
  for (auto &[version, names] : versions)
    script += version.str() + " { " + names + "};\n";
  script += "}\n";

  // A link needs one input that is no script.
  MemoryFile scriptFile("script"), empty("empty");
  if (!scriptFile.write(script) || !empty.write(ArrayRef<char>("", 1))) {
    emitError() << "no memory file for the linker script";
    return failure();
  }
  return runLinker(
      {"-m", "elf_x86_64", "-soname", "libm.so.6"},
      {"--format=binary", empty.path(), "--format=default", scriptFile.path()},
      emitError);
}

FailureOr<SmallVector<char, 0>>
linkSharedObject(ArrayRef<ObjectCode> objects,
                 llvm::function_ref<InFlightDiagnostic()> emitError) {
  // A step of library calls alone has no kernels, hence nothing to link.
  if (objects.empty())
    return SmallVector<char, 0>();
  std::vector<std::unique_ptr<llvm::object::ObjectFile>> files;
  std::vector<MemoryFile> inputs;
  std::vector<std::string> paths;
  for (const ObjectCode &object : objects) {
    auto file = llvm::object::ObjectFile::createELFObjectFile(
        llvm::MemoryBufferRef(StringRef(object.data(), object.size()), ""));
    if (!file) {
      emitError() << "not an object file: " << llvm::toString(file.takeError());
      return failure();
    }
    files.push_back(std::move(*file));
    inputs.emplace_back("kernels");
    if (!inputs.back().write(object)) {
      emitError() << "no memory file for " << object.size()
                  << " bytes of object code";
      return failure();
    }
    paths.push_back(inputs.back().path());
  }

  FailureOr<llvm::SetVector<StringRef>> undefined =
      findUndefinedSymbols(files, emitError);
  if (failed(undefined))
    return failure();
  SmallVector<const LibraryFunction *> called;
  bool ok = true;
  for (StringRef name : *undefined) {
    if (const LibraryFunction *function = findLibraryFunction(name)) {
      called.push_back(function);
      continue;
    }
    ok = false;
    emitError() << "kernels call '" << name
                << "', which no kernel defines and which is not among the "
                << std::size(libraryFunctions)
                << " f64 functions they may call; expand it in the kernel";
  }
  if (!ok)
    return failure();

  // In the order of the table, whatever the order of use.
  llvm::sort(called);
  MemoryFile library("libm.so.6");
  if (!called.empty()) {
    FailureOr<SmallVector<char, 0>> standIn =
        buildLibraryStandIn(called, emitError);
    if (failed(standIn))
      return failure();
    if (!library.write(*standIn)) {
      emitError() << "no memory file for the stand-in of libm";
      return failure();
    }
    paths.push_back(library.path());
  }
  return runLinker({}, paths, emitError);
}

} // namespace tenon::codegen
