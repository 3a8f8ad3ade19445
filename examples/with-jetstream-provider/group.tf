locals {
  filter     = "devices.*.events"
  partitions = 6

  # All events of a device have the same partition.
  destination = provider::pcgroups::transform_destination(local.filter, [1], local.partitions)
}

output "destination" {
  value = local.destination
}

resource "pcgroups_static_group" "telemetry" {
  stream      = jetstream_stream.devices.name
  name        = "telemetry"
  max_members = local.partitions
  filters     = [local.filter]
  members     = ["telemetry-0", "telemetry-1", "telemetry-2"]
}
