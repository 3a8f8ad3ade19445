# The id is <stream>/<name>.
terraform import pcgroups_static_group.telemetry DEVICES/telemetry
