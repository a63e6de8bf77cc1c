package config

import "reflect"

// ClusterChanges returns the keys of the section cluster that differ between two
// configurations: "cluster" if only one of them has the section. The origin of the view is
// reported as "cluster.view.service" even if the name of its service is unchanged.
func ClusterChanges(a, b *Config) []string {
	x, y := a.Cluster, b.Cluster
	if x == nil || y == nil {
		if x == y {
			return nil
		}
		return []string{"cluster"}
	}
	var list []string
	for _, f := range fieldsOf(reflect.TypeFor[Cluster](), "") {
		own, other := reflect.ValueOf(x).Elem().FieldByIndex(f.index), reflect.ValueOf(y).Elem().FieldByIndex(f.index)
		switch f.name {
		case "tls":
			own, other = reflect.ValueOf(a.clusterFiles()), reflect.ValueOf(b.clusterFiles())
		case "view":
			own, other = reflect.ValueOf(x.View.Table), reflect.ValueOf(y.View.Table)
		}
		if !reflect.DeepEqual(own.Interface(), other.Interface()) {
			list = append(list, "cluster."+f.name)
		}
	}
	own, other := a.ViewService().DynamoDB, b.ViewService().DynamoDB
	if own.Origin != other.Origin || own.Region != other.Region {
		list = append(list, "cluster.view.service")
	}
	return list
}

// clusterFiles returns the resolved files of cluster.tls, "" for none.
func (c *Config) clusterFiles() (files ClusterTLS) {
	if t := c.Cluster.TLS; t != nil {
		files = ClusterTLS{Cert: c.Resolve(t.Cert), Key: c.Resolve(t.Key), CA: c.Resolve(t.CA)}
	}
	return files
}
