//===- InspectMemory.cpp - What a file's plan says of memory --------------===//
//
// See CompiledModules.h: the table of the peak and the picture of the arena.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/CompiledModules.h"
#include "tools/tenon-compiler/MemoryProfile.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Format/Reader.h"
#include "tenon/Support/ExitCode.h"

#include "llvm/Support/raw_ostream.h"

#include <span>

using namespace tenon;
using namespace tenon::tool;

int CompiledModules::inspectMemory(const std::string &path,
                                   const MemoryView &view) {
  auto fail = [](const std::string &error) {
    llvm::errs() << "error: " << error << "\n";
    return exitUserError;
  };
  std::string error;
  auto reader = format::Reader::open(path, error);
  if (!reader)
    return fail(error);
  const format::Index &index = reader->index();
  const format::EntryPoint *step = index.findEntryPoint("step");
  if (!step || !step->plan)
    return fail("'" + path +
                "' holds no plan: it was packaged from an edited text; compile "
                "the exported module");
  MemoryProfile profile(index, *step->plan);
  if (view.table)
    printMemory(index, *step->plan, profile, view.rows);
  if (view.picture.empty())
    return exitOk;
  std::string text = memoryPicture(profile, "memory of " + index.name);
  if (!format::writeFile(view.picture, std::as_bytes(std::span(text)), error))
    return fail(error);
  return exitOk;
}
