# Needs Terraform 1.12.
import {
  to = pcgroups_elastic_member.night_shift
  identity = {
    stream = "ORDERS"
    group  = "fulfilment"
    member = "night-shift"
  }
}
