# What adding a member would move, before it is added.
output "before" {
  value = provider::pcgroups::assignments(["a", "b"], 16)
}

output "after" {
  value = provider::pcgroups::assignments(["a", "b", "c"], 16)
}
