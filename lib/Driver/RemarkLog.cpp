//===- RemarkLog.cpp - Keeps what passes remark ---------------------------===//
//
// See RemarkLog.h.
//
//===----------------------------------------------------------------------===//

#include "RemarkLog.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;

std::string driver::placeOf(Location location) {
  std::string place;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    llvm::raw_string_ostream(place)
        << file.getFilename().getValue() << ':' << file.getLine() << ':'
        << file.getColumn();
    return WalkResult::interrupt();
  });
  return place;
}

namespace {

class RemarkLog : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkLog(llvm::json::Array &log) : log(log) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    // The text first, then what was added to it.
    std::string text;
    for (const remark::detail::Remark::Arg &argument : remark.getArgs()) {
      text += text.empty() ? "" : ", ";
      if (argument.key != "Remark" && argument.key != "Reason")
        text += argument.key + "=";
      text += argument.val;
    }
    std::string place = driver::placeOf(remark.getLocation());
    llvm::errs() << (place.empty() ? "" : place + ": ") << "remark: " << text
                 << " [" << remark.getCombinedCategoryName() << "]\n";
    log.push_back(llvm::json::Object{
        {"category", remark.getCombinedCategoryName()},
        {"name", remark.getRemarkName()},
        {"kind", remark.getRemarkTypeString()},
        {"place", place},
        {"text", text},
    });
  }

private:
  llvm::json::Array &log;
};

} // namespace

bool driver::logRemarks(MLIRContext &context, llvm::StringRef categories,
                        llvm::json::Array &log) {
  if (categories.empty())
    return true; // an engine would match every remark against nothing
  std::string expression = ("^(" + categories + ")$").str(), error;
  if (!llvm::Regex(expression).isValid(error))
    return false;
  remark::RemarkCategories wanted;
  wanted.passed = wanted.missed = wanted.analysis = wanted.failed = expression;
  return succeeded(remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkLog>(log),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), wanted));
}
