//===- Channels.cpp - Messages between devices and feeds of the host ------===//
//
// send leaves a message that recv of the receiving process takes, which waits
// for it. infeed takes what the functions in `infeed` of run_parallel give, one
// after the other; outfeed ends in nothing. There is no host that messages of
// the program itself could go to. Asynchronous operations run where they start.
//
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "Evaluators.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;
using namespace tenon::stablehlo;

namespace {

/// The partner of this process on a channel: the pair's other end, whose own
/// column is `mine`. Nothing, with a diagnostic, for pairs that are none.
template <typename Op>
FailureOr<int64_t> partnerOf(Op op, Interpreter &interpreter, unsigned mine) {
  auto pairs = op.getSourceTargetPairs();
  if (op.getIsHostTransfer() || !pairs || pairs->getNumElements() == 0 ||
      pairs->getType().getRank() != 2 || pairs->getType().getDimSize(1) != 2)
    return op->emitOpError(
        "needs 'source_target_pairs' of devices; the interpreter has no host");
  const Devices &devices = interpreter.devices();
  bool isReplica = op.getChannelHandle().getHandle() <= 0;
  int64_t everyone = isReplica ? devices.replicas : devices.partitions;
  int64_t replica = interpreter.process() / devices.partitions;
  int64_t partition = interpreter.process() % devices.partitions;
  auto ids = llvm::to_vector(pairs->template getValues<int64_t>());
  for (int64_t id : ids)
    if (id < 0 || id >= everyone)
      return op->emitOpError("names device ") << id << " of " << everyone;
  for (size_t i = 0; i < ids.size(); i += 2)
    if (ids[i + mine] == (isReplica ? replica : partition)) {
      int64_t other = ids[i + 1 - mine];
      return isReplica ? other * devices.partitions + partition
                       : replica * devices.partitions + other;
    }
  return -1;
}

/// The types that arrive have to be those of the results; the token is added.
LogicalResult checkReceived(Operation *op, Tensors &received) {
  TypeRange expected = TypeRange(op->getResultTypes()).drop_back();
  bool agree = received.size() == expected.size();
  for (size_t i = 0; agree && i < expected.size(); ++i)
    agree = received[i].type == expected[i];
  if (!agree)
    return op->emitOpError("takes ")
           << expected.size() << " tensors of types " << expected << ", given "
           << received.size() << " of others";
  received.emplace_back();
  return success();
}

LogicalResult evaluateSend(Operation *op, Interpreter &interpreter,
                           ArrayRef<Tensor> operands, Tensors &results) {
  auto send = cast<SendOp>(op);
  auto target = partnerOf(send, interpreter, /*mine=*/0);
  if (failed(target))
    return failure();
  if (*target >= 0)
    interpreter.devices().send(send.getChannelHandle().getHandle(),
                               interpreter.process(), *target,
                               Tensors(operands.drop_back()));
  results.emplace_back(); // the token
  return success();
}

LogicalResult evaluateRecv(Operation *op, Interpreter &interpreter,
                           ArrayRef<Tensor>, Tensors &results) {
  auto receive = cast<RecvOp>(op);
  auto source = partnerOf(receive, interpreter, /*mine=*/1);
  if (failed(source))
    return failure();
  if (*source < 0) { // nobody sends here
    for (unsigned i = 0; i + 1 < op->getNumResults(); ++i)
      results.push_back(Tensor(resultType(op, i)));
    results.emplace_back();
    return success();
  }
  auto message =
      interpreter.devices().receive(op, receive.getChannelHandle().getHandle(),
                                    *source, interpreter.process());
  if (failed(message))
    return failure();
  results = std::move(*message);
  return checkReceived(op, results);
}

LogicalResult evaluateInfeed(Operation *op, Interpreter &interpreter,
                             ArrayRef<Tensor>, Tensors &results) {
  auto function = interpreter.devices().nextFeed();
  if (!function)
    return op->emitOpError("reads a feed that is empty");
  auto values = interpreter.call(op, function.getBody(), {});
  if (failed(values))
    return failure();
  results = std::move(*values);
  return checkReceived(op, results);
}

LogicalResult evaluateOutfeed(Operation *, Interpreter &, ArrayRef<Tensor>,
                              Tensors &results) {
  results.emplace_back();
  return success();
}

LogicalResult evaluateAsyncStart(Operation *op, Interpreter &interpreter,
                                 ArrayRef<Tensor> operands, Tensors &results) {
  auto values =
      interpreter.call(op, cast<AsyncStartOp>(op).getBody(), operands);
  if (failed(values))
    return failure();
  interpreter.promise(op->getResult(0), std::move(*values));
  results.emplace_back(); // the future
  return success();
}

LogicalResult evaluateAsyncDone(Operation *op, Interpreter &interpreter,
                                ArrayRef<Tensor>, Tensors &results) {
  auto values = interpreter.promised(op->getOperand(0));
  if (!values)
    return op->emitOpError("waits for what was not started beside it");
  results = std::move(*values);
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::channelEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.async_done", evaluateAsyncDone},
      {"stablehlo.async_start", evaluateAsyncStart},
      {"stablehlo.infeed", evaluateInfeed},
      {"stablehlo.outfeed", evaluateOutfeed},
      {"stablehlo.recv", evaluateRecv},
      {"stablehlo.send", evaluateSend},
  };
  return table;
}
