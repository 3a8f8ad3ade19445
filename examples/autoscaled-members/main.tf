# The autoscaler of the consumers adds and drops members while they run, so that
# Terraform must not own the membership: it makes the group, and one member that
# is always there.
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

resource "pcgroups_elastic_group" "workers" {
  stream      = "ORDERS"
  name        = "autoscaled"
  max_members = 32 # the most members that the autoscaler can make use of

  partitioning_filters = [{ filter = "orders.*", partitioning_wildcards = [1] }]

  # Neither members nor member_mappings: the membership is not managed here.
}

resource "pcgroups_elastic_member" "base" {
  stream = pcgroups_elastic_group.workers.stream
  group  = pcgroups_elastic_group.workers.name
  member = "base"
}
