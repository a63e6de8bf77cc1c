package partiql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// statements are unambiguous statements with their expected summaries.
var statements = []struct{ text, want string }{
	{`SELECT * FROM "users"`, `select users`},
	{`select * from users`, `select users`},
	{" \tSELECT\na,b.c[1] FROM users WHERE id = ? ", `select users`},
	{`SELECT * FROM "users"."by_age" WHERE age > 5 ORDER BY age DESC`, `select users by_age`},
	{`SELECT * FROM users.by_age`, `select users by_age`},
	{`SELECT * FROM "users" . "by-age" WHERE x='from other'`, `select users by-age`},
	{`SELECT "from", "select" FROM "my.table-1" WHERE "FROM" = 'it''s from "x"' AND y = "a""b"`, `select my.table-1`},
	{`SELECT * FROM "arn:aws:dynamodb:us-east-1:123456789012:table/users" WHERE id = 'x'`, `select arn:aws:dynamodb:us-east-1:123456789012:table/users`},
	{`SELECT * FROM t ORDER BY id`, `select t`},
	{`SELECT COUNT(*) FROM t WHERE a IN [1, -2.5e3, 'x'] AND b = {'k': << 1, 2 >>} AND begins_with(c, 'd') AND e IS NOT MISSING`, `select t`},
	{`INSERT INTO "t" VALUE {'id': 'x', 'n': 1, 'l': [1, {'m': null}], 's': <<'a'>>}`, `insert t`},
	{`insert into t value ?`, `insert t`},
	{`UPDATE "t" SET a = 1 SET b = a + 2 REMOVE c WHERE id = 'x' RETURNING ALL OLD *`, `update t`},
	{`UPDATE t REMOVE a WHERE id = ?`, `update t`},
	{`UPDATE t SET tags = set_add(tags, <<'x'>>), l = list_append(l, [1]) WHERE id = ?`, `update t`},
	{`DELETE FROM "t" WHERE id = 'x' AND "n" = 5 RETURNING ALL OLD *`, `delete t`},
	{`EXISTS(SELECT * FROM "t" WHERE id = 'x' AND size(n) = 5)`, `exists t`},
	{`EXISTS (SELECT * FROM t)`, `exists t`},
	{`SELECT * FROM delete_log WHERE updated = 1`, `select delete_log`},
	{`SELECT * FROM t WHERE a = 'é' AND "é" = 1`, `select t`},
}

func (s Statement) text() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", s.Kind, s.Table, s.Index))
}

func TestParse(t *testing.T) {
	for _, x := range statements {
		if got, ok := Parse([]byte(x.text)); !ok || got.text() != x.want {
			t.Errorf("Parse(%s) = %s, %v; want %s", x.text, got.text(), ok, x.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", " ", "users", "DROP TABLE users", "SELECT", "SELECT *", "SELECT * FROM", "SELECT * FROM 'users'", `SELECT * FROM ""`,
		`SELECT * FROM "a""b"`, `SELECT * FROM "users`, "SELECT * FROM users, others", "SELECT * FROM users u", "SELECT * FROM users AS u", "SELECT * FROM users JOIN others",
		"SELECT * FROM users.by_age.x", "SELECT * FROM users.", "SELECT * FROM ?", "SELECT * FROM (SELECT * FROM users)", "SELECT * FROM users WHERE id IN (SELECT id FROM others)",
		"SELECT (SELECT * FROM others) FROM users", "SELECT EXISTS(SELECT * FROM others) FROM users", "SELECT * FROM users WHERE EXISTS(SELECT * FROM others)",
		"SELECT * FROM users; DELETE FROM others WHERE id = 1", "SELECT * FROM users WHERE a = 1;", "SELECT * FROM users -- WHERE", "SELECT * /* FROM others */ FROM users",
		"SELECT * FROM users WHERE a = `2020T`", "SELECT * FROM users WHERE a = 'x", `SELECT * FROM users WHERE a = "x`, "SELECT * FROM usérs", "SELECT * FROM users WHERE a = 1x",
		"SELECT * FROM users WHERE (a = 1", "SELECT * FROM users WHERE a = 1)", "SELECT ) FROM users", "SELECT * FROM users FROM others", "SELECT * FROM WHERE a = 1", "SELECT * FROM select",
		"INSERT users VALUE {}", "INSERT INTO users", "INSERT INTO users {}", "INSERT INTO users.x VALUE {}", "INSERT INTO users VALUE SELECT", "INSERT INTO 'users' VALUE {}",
		"INSERT INTO users VALUE {'a': (SELECT * FROM others)}", "UPDATE users", "UPDATE users WHERE id = 1", "UPDATE users.x SET a = 1", "UPDATE users SET a = (SELECT 1 FROM others)",
		"UPDATE users, others SET a = 1", "DELETE users WHERE id = 1", "DELETE FROM users", "DELETE FROM users.x WHERE id = 1", "DELETE FROM users WHERE id = 1 DELETE FROM others",
		"EXISTS", "EXISTS(", "EXISTS(SELECT * FROM users", "EXISTS(SELECT * FROM users))", "EXISTS(SELECT * FROM users) AND 1", "EXISTS(UPDATE users SET a = 1)", "EXISTS SELECT * FROM users",
		"SELECT * FROM users\x00", "SELECT * FROM users WHERE a = 1 # x", "SELECT * FROM users WHERE " + strings.Repeat("a", 8200)} {
		if got, ok := Parse([]byte(text)); ok {
			t.Errorf("Parse(%.100s) = %s, want an error", text, got.text())
		}
	}
}

func TestAllocs(t *testing.T) {
	if race.Enabled {
		return
	}
	stmt := []byte(statements[3].text)
	if n := testing.AllocsPerRun(100, func() { Parse(stmt) }); n != 0 {
		t.Errorf("Parse allocates %v times", n)
	}
}

// FuzzParse checks that an accepted statement names its table once, right after the keyword that
// introduces it, and has no other verb outside of quotes.
func FuzzParse(f *testing.F) {
	for _, x := range statements {
		f.Add(x.text)
	}
	f.Add(`INSERT INTO "t" VALUE<$INSERT`) // a name, not a verb
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := Parse([]byte(text))
		if !ok {
			return
		}
		if s.Kind == Unknown || len(s.Table) == 0 || !strings.Contains(text, string(s.Table)) {
			t.Fatalf("Parse(%q) = %s", text, s.text())
		}
		bare := strings.ToUpper(outsideQuotes(text))
		words := strings.FieldsFunc(bare, func(r rune) bool { return r != '_' && r != '$' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') })
		verbs := 0
		for _, w := range words {
			switch w {
			case "SELECT", "INSERT", "UPDATE", "DELETE":
				verbs++
			}
		}
		if verbs != 1 || strings.ContainsAny(bare, ";`") || strings.Contains(bare, "--") {
			t.Fatalf("Parse(%q) = %s", text, s.text())
		}
	})
}

// outsideQuotes replaces quoted text by spaces.
func outsideQuotes(text string) string {
	var b strings.Builder
	quote := byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
			b.WriteByte(' ')
		case quote == 0:
			b.WriteByte(c)
		case c == quote:
			quote = 0
		}
	}
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	stmt := []byte(statements[3].text)
	b.ReportAllocs()
	for b.Loop() {
		Parse(stmt)
	}
}
