# The id is <stream>/<name>.
terraform import pcgroups_elastic_group.fulfilment ORDERS/fulfilment
