# The id is <stream>/<group>/<member>.
terraform import pcgroups_elastic_member.night_shift ORDERS/fulfilment/night-shift
