# Needs Terraform 1.12.
import {
  to = pcgroups_static_group.telemetry
  identity = {
    stream = "DEVICES"
    name   = "telemetry"
  }
}
