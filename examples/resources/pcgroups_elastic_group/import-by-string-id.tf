import {
  to = pcgroups_elastic_group.fulfilment
  id = "ORDERS/fulfilment"
}
