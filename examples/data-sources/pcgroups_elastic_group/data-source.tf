data "pcgroups_elastic_group" "fulfilment" {
  stream = "ORDERS"
  name   = "fulfilment"
}

output "fulfilment_partitions" {
  value = data.pcgroups_elastic_group.fulfilment.assignments
}
