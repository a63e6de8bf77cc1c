package couch

import "testing"

// TestRecreatedWithinASecond deletes and recreates a database on the node itself, while its
// instance_start_time remains the same. The copies of the former database are dropped, also
// if the new one has as many changes when Kasoku sees it.
func TestRecreatedWithinASecond(t *testing.T) {
	for _, changes := range []int{0, 1, 2} {
		s := newSite(t, 1)
		a := s.nodes[0]
		a.store("x", "1")
		s.follow()
		s.get("before", "/db/x", 200, "1", "fwd=uri-miss; stored")
		s.get("before", "/db/x", 200, "1", "hit")
		s.get("before", view, 200, rows("x", "1"), "fwd=uri-miss; stored")
		a.recreate()
		for range changes {
			a.store("y", "2")
		}
		s.until(func() bool { return s.do("GET", "/db/x", "").status == 404 })
		if g := s.do("GET", view, ""); g.status != 200 || g.body == rows("x", "1") {
			t.Errorf("with %d changes: got %d %s", changes, g.status, g.body)
		}
	}
}
