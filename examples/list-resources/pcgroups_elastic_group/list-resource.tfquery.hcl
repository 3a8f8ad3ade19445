# terraform query -generate-config-out=groups.tf
list "pcgroups_elastic_group" "orders" {
  provider = pcgroups

  config {
    stream = "ORDERS"
  }
}
