# What the states in this folder are of. Each resource type is here with as
# little as it needs, called "least", and with all it has.
terraform {
  required_providers {
    pcgroups = { source = "nats-pcgroups/pcgroups" }
  }
}

resource "pcgroups_elastic_group" "least" {
  stream      = "ORDERS"
  name        = "least"
  max_members = 4
}

resource "pcgroups_elastic_group" "members" {
  stream               = "ORDERS"
  name                 = "members"
  max_members          = 4
  partitioning_filters = [{ filter = "orders.*", partitioning_wildcards = [1] }]
  max_buffered_msgs    = 1000
  max_buffered_bytes   = 1048576
  members              = ["b", "a"]
  force_destroy        = true
  timeouts             = { create = "1m", read = "1m", update = "1m", delete = "1m" }
}

resource "pcgroups_elastic_group" "mappings" {
  stream               = "ORDERS"
  name                 = "mappings"
  max_members          = 2
  partitioning_filters = [{ filter = "orders.*.>" }]
  member_mappings      = { a = [1], b = [0] }
}

resource "pcgroups_static_group" "least" {
  stream      = "PARTS"
  name        = "least"
  max_members = 4
  filters     = []
  members     = ["b", "a"]
}

resource "pcgroups_static_group" "mappings" {
  stream          = "PARTS"
  name            = "mappings"
  max_members     = 4
  filters         = ["parts.*"]
  member_mappings = { a = [1, 2], b = [0, 3] }
  force_destroy   = true
  timeouts        = { create = "1m" }
}

resource "pcgroups_elastic_group" "membership" {
  stream      = "ORDERS"
  name        = "membership"
  max_members = 4
}

resource "pcgroups_elastic_membership" "least" {
  stream  = pcgroups_elastic_group.membership.stream
  group   = pcgroups_elastic_group.membership.name
  members = ["b", "a"]
}

resource "pcgroups_elastic_membership" "mappings" {
  stream          = pcgroups_elastic_group.least.stream
  group           = pcgroups_elastic_group.least.name
  member_mappings = { a = [0, 1], b = [2, 3] }
  on_destroy      = "clear"
  timeouts        = { create = "1m" }
}

resource "pcgroups_elastic_group" "member" {
  stream      = "ORDERS"
  name        = "member"
  max_members = 4
}

resource "pcgroups_elastic_member" "least" {
  stream = pcgroups_elastic_group.member.stream
  group  = pcgroups_elastic_group.member.name
  member = "a"
}
