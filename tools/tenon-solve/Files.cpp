//===- Files.cpp - read and write whole files -----------------------------===//
//
// What every subcommand of tenon-solve needs: which files it was given, text
// in, text out, with the reason on stderr when it fails or when what it was
// given is wrong.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tenon::solve {

int complain(const std::string &path, const std::string &message) {
  std::fprintf(stderr, "%s: error: %s\n", path.c_str(), message.c_str());
  return exitError;
}

int misuse(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return exitUsage;
}

std::optional<SolveRequest> parseSolveRequest(Arguments arguments) {
  SolveRequest request;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (argument == "--json") {
      request.json = true;
    } else if (argument == "-o" && i + 1 < arguments.size()) {
      request.solutionPath = arguments[++i];
    } else if (argument.starts_with("-") || !request.problemPath.empty()) {
      misuse("cannot use argument '" + std::string(argument) + "'");
      return std::nullopt;
    } else {
      request.problemPath = argument;
    }
  }
  if (request.problemPath.empty() || request.solutionPath.empty()) {
    misuse("expected a problem and -o with a path for the solution");
    return std::nullopt;
  }
  return request;
}

static void complainOfSystem(const char *action, const std::string &path) {
  std::fprintf(stderr, "error: cannot %s '%s': %s\n", action, path.c_str(),
               std::strerror(errno));
}

std::optional<std::string> readFile(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file) {
    complainOfSystem("open", path);
    return std::nullopt;
  }
  std::string text;
  if (std::fseek(file, 0, SEEK_END) == 0) {
    if (long size = std::ftell(file); size > 0)
      text.reserve(static_cast<size_t>(size));
    std::rewind(file);
  }
  char buffer[1 << 16];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, file))
    text.append(buffer, count);
  bool failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed) {
    complainOfSystem("read", path);
    return std::nullopt;
  }
  return text;
}

bool writeFile(const std::string &path, std::string_view text) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  bool good =
      file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && std::fclose(file) != 0)
    good = false;
  if (!good)
    complainOfSystem("write", path);
  return good;
}

std::string quoteJson(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

} // namespace tenon::solve
