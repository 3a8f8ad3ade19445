# The stream DEVICES must put the partition in front of its subjects with a
# subject transform of its own, from "devices.*.events" to
# "{{Partition(6,1)}}.devices.{{Wildcard(1)}}.events".
resource "pcgroups_static_group" "telemetry" {
  stream      = "DEVICES"
  name        = "telemetry"
  max_members = 6
  filters     = ["devices.*.events"]
  members     = ["telemetry-0", "telemetry-1", "telemetry-2"]
}

# An explicit assignment.
resource "pcgroups_static_group" "archive" {
  stream      = "DEVICES"
  name        = "archive"
  max_members = 6

  member_mappings = {
    archive-0 = [0, 1, 2, 3]
    archive-1 = [4, 5]
  }
}
