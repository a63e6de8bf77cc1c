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
			own, other = reflect.ValueOf(a.viewPlace()), reflect.ValueOf(b.viewPlace())
		}
		if !reflect.DeepEqual(own.Interface(), other.Interface()) {
			list = append(list, "cluster."+f.name)
		}
	}
	own, other := a.ViewService(), b.ViewService()
	if own != nil && other != nil && (own.DynamoDB.Origin != other.DynamoDB.Origin || own.DynamoDB.Region != other.DynamoDB.Region) {
		list = append(list, "cluster.view.service")
	}
	return list
}

// viewPlace returns the settings of cluster.view that are in use, without the service.
func (c *Config) viewPlace() ClusterView {
	v := c.Cluster.View
	v.Service, v.Bucket = "", c.ViewBucket()
	if v.Bucket != "" {
		v.Table = ""
	}
	if v.Directory != "" {
		v.Directory = c.Resolve(v.Directory)
	}
	return v
}

// clusterFiles returns the resolved files of cluster.tls, "" for none.
func (c *Config) clusterFiles() (files ClusterTLS) {
	if t := c.Cluster.TLS; t != nil {
		files = ClusterTLS{Cert: c.Resolve(t.Cert), Key: c.Resolve(t.Key), CA: c.Resolve(t.CA)}
	}
	return files
}
