// RUN: not tenon run %s --reference 2>&1 | FileCheck %s

// Nobody sends: an error, not a wait without end.

// CHECK: error: 'stablehlo.recv' op waits for a message that nobody sends
func.func private @alone() -> tensor<2xi64> {
  %token = stablehlo.after_all : !stablehlo.token
  %got:2 = "stablehlo.recv"(%token) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  return %got#0 : tensor<2xi64>
}

func.func @main() {
  %r:2 = "interpreter.run_parallel"() {programs = [[@alone], [@alone]]} : () -> (tensor<2xi64>, tensor<2xi64>)
  return
}
