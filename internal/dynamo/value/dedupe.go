package value

// dedupeMembers lets the last of several members with one name replace the first, as reading
// the object into a map does, and returns the number of members that remain.
func dedupeMembers(members []Member) int {
	if len(members) <= fewMembers {
		return dedupeFew(members)
	}
	at := make(map[string]int, len(members))
	n := 0
	for _, m := range members {
		if i, ok := at[m.Name]; ok {
			members[i] = m
			continue
		}
		at[m.Name] = n
		members[n] = m
		n++
	}
	return n
}

func dedupeFew(members []Member) int {
	n := 0
next:
	for _, m := range members {
		for i := range members[:n] {
			if members[i].Name == m.Name {
				members[i] = m
				continue next
			}
		}
		members[n] = m
		n++
	}
	return n
}
