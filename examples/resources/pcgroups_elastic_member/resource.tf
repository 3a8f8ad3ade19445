# One member beside those that others add.
resource "pcgroups_elastic_member" "night_shift" {
  stream = "ORDERS"
  group  = "fulfilment"
  member = "night-shift"
}
