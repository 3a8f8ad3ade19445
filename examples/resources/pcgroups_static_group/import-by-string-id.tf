import {
  to = pcgroups_static_group.telemetry
  id = "DEVICES/telemetry"
}
