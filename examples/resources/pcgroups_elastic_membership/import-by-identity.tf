# Needs Terraform 1.12.
import {
  to = pcgroups_elastic_membership.fulfilment
  identity = {
    stream = "ORDERS"
    group  = "fulfilment"
  }
}
