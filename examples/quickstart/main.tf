terraform {
  required_providers {
    pcgroups = { source = "nats-pcgroups/pcgroups" }
  }
}

variable "nats_url" {
  type    = string
  default = null # the environment variable NATS_URL, else nats://127.0.0.1:4222
}

variable "members" {
  type    = set(string)
  default = ["worker-1", "worker-2", "worker-3"]
}

# snippet:
provider "pcgroups" {
  servers = var.nats_url == null ? null : [var.nats_url]
}

# Eight partitions of the stream ORDERS, keyed by the customer in orders.<customer>.
resource "pcgroups_elastic_group" "orders_workers" {
  stream               = "ORDERS"
  name                 = "orders-workers"
  max_members          = 8
  partitioning_filters = [{ filter = "orders.*", partitioning_wildcards = [1] }]
  members              = var.members
}

output "assignments" {
  description = "Which partitions each member has."
  value       = pcgroups_elastic_group.orders_workers.assignments
}
# end
