data "pcgroups_static_group" "telemetry" {
  stream = "DEVICES"
  name   = "telemetry"
}

output "telemetry_members" {
  value = data.pcgroups_static_group.telemetry.members
}
