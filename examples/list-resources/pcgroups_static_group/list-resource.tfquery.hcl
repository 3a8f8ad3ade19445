# Those on all streams.
list "pcgroups_static_group" "all" {
  provider = pcgroups
}
