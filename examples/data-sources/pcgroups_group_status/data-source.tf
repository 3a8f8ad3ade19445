# Warns in every plan while the group is far behind or nobody works on it.
check "fulfilment_keeps_up" {
  data "pcgroups_group_status" "fulfilment" {
    stream = "ORDERS"
    group  = "fulfilment"
    kind   = "elastic"
  }

  assert {
    condition     = data.pcgroups_group_status.fulfilment.lag < 10000
    error_message = "fulfilment is ${data.pcgroups_group_status.fulfilment.lag} messages behind"
  }

  assert {
    condition     = length(data.pcgroups_group_status.fulfilment.active_members) > 0
    error_message = "no member of fulfilment is connected"
  }
}
