# The group of the three programs, for trying them. A group that is there already,
# however it was made, stays as it is when programs change over.
terraform {
  required_providers {
    pcgroups = { source = "nats-pcgroups/pcgroups" }
  }
}

variable "nats_url" {
  type    = string
  default = "nats://127.0.0.1:4222"
}

provider "pcgroups" {
  servers = [var.nats_url]
}

resource "pcgroups_elastic_group" "billing" {
  stream               = "ORDERS"
  name                 = "billing"
  max_members          = 8
  partitioning_filters = [{ filter = "orders.*", partitioning_wildcards = [1] }]
  members              = ["m1", "m2"]
}
