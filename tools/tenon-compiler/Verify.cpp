//===- Verify.cpp - tenon verify ------------------------------------------===//
//
// Checks a .tenon file without running it: its hashes, and every claim of the
// plan in it by checkers that share nothing with what made the plan.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/Commands.h"
#include "tools/tenon/ArgumentParser.h"

#include "tenon/Format/Reader.h"
#include "tenon/Package/CheckPlan.h"
#include "tenon/Support/ExitCode.h"

#include "llvm/Support/raw_ostream.h"

using namespace tenon;
using namespace tenon::tool;

int tool::runVerify(Arguments arguments, Modules *) {
  ArgumentParser parser("verify",
                        "Checks the plan in a .tenon file without the code "
                        "that made it: every instruction\nreads the values "
                        "that it should, no buffers overlap, and the bounds "
                        "are proved. The exit code\nis 1 at the first claim "
                        "that is false.",
                        "FILE.tenon");
  parser.examples("tenon verify step.tenon\n");
  std::vector<std::string> files;
  if (auto code = parser.parse(arguments, files))
    return *code;
  const std::string &path = files.front();
  auto fail = [](const std::string &error) {
    llvm::errs() << "error: " << error << "\n";
    return exitUserError;
  };
  std::string error;
  auto reader = format::Reader::open(path, error);
  if (!reader)
    return fail(error);
  for (const format::Section &section : reader->index().sections) {
    std::vector<std::byte> bytes(section.bytes);
    if (!reader->readSection(section, bytes, error))
      return fail("'" + path + "': " + error);
  }
  const format::EntryPoint *step = reader->index().findEntryPoint("step");
  if (!step || !step->plan)
    return fail("'" + path +
                "' holds no plan: it was packaged from an edited text; compile "
                "the exported module");
  auto judged = package::checkPlans(reader->index());
  if (auto *wrong = std::get_if<package::FalseClaim>(&judged))
    return fail("'" + path + "' does not keep its plan: " + wrong->text);
  llvm::outs() << "file           " << reader->index().sections.size()
               << " sections and the index have the hashes they should\n";
  for (const std::string &claim : std::get<package::ProvedClaims>(judged))
    llvm::outs() << claim << "\n";
  return exitOk;
}
