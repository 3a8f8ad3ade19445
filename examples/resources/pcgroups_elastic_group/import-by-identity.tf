# Needs Terraform 1.12.
import {
  to = pcgroups_elastic_group.fulfilment
  identity = {
    stream = "ORDERS"
    name   = "fulfilment"
  }
}
