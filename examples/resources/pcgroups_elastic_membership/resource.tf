# The group is made elsewhere; this configuration decides who its members are.
resource "pcgroups_elastic_membership" "fulfilment" {
  stream  = "ORDERS"
  group   = "fulfilment"
  members = ["fulfilment-a", "fulfilment-b"]

  # Without this resource nobody shall consume.
  on_destroy = "clear"
}
