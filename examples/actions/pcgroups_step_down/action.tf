# terraform apply -invoke=action.pcgroups_step_down.fulfilment_a
action "pcgroups_step_down" "fulfilment_a" {
  config {
    stream = "ORDERS"
    group  = "fulfilment"
    kind   = "elastic"
    member = "fulfilment-a"
  }
}
