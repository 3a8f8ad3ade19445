# Everything that consumes ORDERS through an elastic group.
data "pcgroups_groups" "orders" {
  stream = "ORDERS"
  kind   = "elastic"
}

output "order_groups" {
  value = data.pcgroups_groups.orders.groups[*].name
}
