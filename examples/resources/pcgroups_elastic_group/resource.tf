# Orders of one customer stay in order; up to 16 members share the customers.
resource "pcgroups_elastic_group" "fulfilment" {
  stream      = "ORDERS"
  name        = "fulfilment"
  max_members = 16

  partitioning_filters = [
    { filter = "orders.*.created", partitioning_wildcards = [1] },
    { filter = "orders.*.cancelled", partitioning_wildcards = [1] },
  ]

  # At least 2.5 seconds of peak traffic.
  max_buffered_msgs = 50000

  # Terraform owns the membership. Leave this out where applications change it.
  members = ["fulfilment-a", "fulfilment-b", "fulfilment-c"]
}

# An explicit assignment: one member has three of the four partitions.
resource "pcgroups_elastic_group" "billing" {
  stream      = "ORDERS"
  name        = "billing"
  max_members = 4

  partitioning_filters = [{ filter = "orders.*.>", partitioning_wildcards = [1] }]

  member_mappings = {
    main = [0, 1, 2]
    side = [3]
  }

  timeouts = {
    delete = "30s"
  }
}
