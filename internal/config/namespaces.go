package config

import "reflect"

// Namespaced reports whether the tables of each access key and region are kept apart.
func (d *DynamoDB) Namespaced() bool { return d.Namespaces == "key" && d.Origin.Embedded() }

// namespaces reports keys that namespaces exclude.
func (k *checker) namespaces(path string, d *DynamoDB) {
	if !d.Namespaced() {
		return
	}
	if d.Auth.Mode != "none" {
		k.failf(path+".namespaces", "needs auth: {mode: none}: the access key of a request selects its tables and is not verified, while with auth.keys it decides on permissions; "+
			"set mode none, or leave namespaces out")
	}
	if d.DAX != nil {
		k.failf(path+".dax", "requests of DAX clients have no namespace; leave out dax, or namespaces: key")
	}
	if d.PlainJSON {
		k.failf(path+".plain_json", "requests of bbpd's clients have no signature, and so no namespace; leave out plain_json, or namespaces: key")
	}
	var usual DynamoDB
	setDefaults(reflect.ValueOf(&usual).Elem(), "")
	f := func(key string, given bool) {
		if given {
			k.failf(path+"."+key, "has no effect: with namespaces: key nothing is cached")
		}
	}
	f("item_ttl", d.ItemTTL != nil)
	f("query_ttl", d.QueryTTL != usual.QueryTTL)
	f("negative_ttl", d.NegativeTTL != usual.NegativeTTL)
	f("quarantine", d.Quarantine != usual.Quarantine)
	f("refresh_ahead", d.RefreshAhead != usual.RefreshAhead)
	f("expire_items", len(d.ExpireItems.Tables) > 0)
	f("verify", d.Verify != nil)
	f("tables", len(d.Tables) > 0)
}
