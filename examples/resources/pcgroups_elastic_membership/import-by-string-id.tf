import {
  to = pcgroups_elastic_membership.fulfilment
  id = "ORDERS/fulfilment"
}
