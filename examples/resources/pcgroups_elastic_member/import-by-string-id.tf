import {
  to = pcgroups_elastic_member.night_shift
  id = "ORDERS/fulfilment/night-shift"
}
