package provider

import "github.com/hashicorp/terraform-plugin-framework/attr"

// change is an attribute before and after.
type change struct {
	attribute     string
	before, after attr.Value
}

// changed lists the attributes that differ. One that is not known yet differs.
func changed(changes []change) []string {
	var names []string
	for _, c := range changes {
		if !c.before.Equal(c.after) {
			names = append(names, c.attribute)
		}
	}
	return names
}
