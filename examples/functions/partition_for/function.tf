# Which partition the orders of one customer are in.
output "partition" {
  value = provider::pcgroups::partition_for("orders.4711.created", "orders.*.created", [1], 16)
}
