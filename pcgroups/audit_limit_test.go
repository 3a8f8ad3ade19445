package pcgroups

// AuditMost lets tests see an audit end early.
func AuditMost(ranges int) AuditOption { return func(o *auditOptions) { o.most = ranges } }
