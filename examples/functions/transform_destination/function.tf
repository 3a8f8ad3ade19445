# "{{Partition(6,1)}}.devices.{{Wildcard(1)}}.events"
output "destination" {
  value = provider::pcgroups::transform_destination("devices.*.events", [1], 6)
}
