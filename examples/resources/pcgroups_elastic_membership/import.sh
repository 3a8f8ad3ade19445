# The id is <stream>/<group>.
terraform import pcgroups_elastic_membership.fulfilment ORDERS/fulfilment
