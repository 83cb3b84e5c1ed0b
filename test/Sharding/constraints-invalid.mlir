// RUN: tenon-opt %s --split-input-file --partition='mesh=data=2,model=2' --verify-diagnostics -o /dev/null

sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'step.sharding_constraint' op is cut along axis 'x' of size 4, and the mesh is data=2,model=2}}
  %0 = step.sharding_constraint %x {sharding = #sdy.sharding<@mesh, [{"x"}]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'step.sharding_constraint' op has a pending reduction, expected whole values}}
  %0 = step.sharding_constraint %x {sharding = #sdy.sharding<@mesh, [{"data"}], unreduced={"model"}>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["data"=2, "model"=2], device_ids=[3, 2, 1, 0]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'step.sharding_constraint' op has a sharding on devices in an order of their own, which is not partitioned}}
  %0 = step.sharding_constraint %x {sharding = #sdy.sharding<@mesh, [{"data"}]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'step.sharding_constraint' op cannot be cut so: 'mhlo.sharding' is "{manual}", which is for a body per device, and there is none}}
  %0 = step.sharding_constraint %x {sharding = "{manual}"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'step.sharding_constraint' op has a sharding of another kind: 7}}
  %0 = step.sharding_constraint %x {sharding = 7 : i32} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>, %y: tensor<8x2xf32>) -> (tensor<8xf32>, tensor<8x2xf32>) {
  // expected-note@below {{the first one is here}}
  %0 = step.sharding_constraint %x {group = 1 : i64} : tensor<8xf32>
  // expected-error@below {{'step.sharding_constraint' op puts a tensor of 2 dimensions into the group 1, whose others have 1}}
  %1 = step.sharding_constraint %y {group = 1 : i64} : tensor<8x2xf32>
  return %0, %1 : tensor<8xf32>, tensor<8x2xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'step.sharding_constraint' op says nothing: expected a 'sharding', a 'group' or 'passes'}}
  %0 = step.sharding_constraint %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'step.sharding_constraint' op has the open dimension 1, expected one of 1}}
  %0 = step.sharding_constraint %x {open_dims = array<i64: 1>, sharding = "{replicated}"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'step.sharding_constraint' op passes 'sideways', expected none, forward or backward}}
  %0 = step.sharding_constraint %x {passes = "sideways"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
