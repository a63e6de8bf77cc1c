package partiql

import (
	"strings"
	"sync"
)

// keywords can't be names without quotes, even where they have no meaning.
var keywords = words(`absolute action add all allocate alter and any are assertion authorization avg begin between
bit bit_length cascade cascaded case cast catalog char character character_length char_length check close coalesce
collate collation column commit connect connection constraint constraints continue convert corresponding count create
cross current current_date current_time current_timestamp current_user cursor date deallocate dec decimal declare
default deferrable deferred delete describe descriptor diagnostics disconnect distinct domain double drop else end
escape except exception exec execute exists external extract date_add date_diff fetch first float foreign found from
full get global go goto grant group having identity immediate in indicator initially inner input insensitive insert
int integer intersect interval into is isolation join key language last left level like local lower match max min
module names national natural nchar next no not nullif numeric octet_length of on only open option or order outer
output overlaps pad partial position precision prepare preserve primary prior privileges procedure public read real
references relative restrict revoke right rollback rows schema scroll section select session session_user set size
smallint some space sql sqlcode sqlerror sqlstate substring sum system_user table temporary then time timestamp to
transaction translate translation trim union unique unknown update upper usage user using value values varchar varying
view when whenever where with work write zone pivot unpivot limit tuple remove index let conflict do nothing returning
modified new old bool boolean int4 int8 string symbol clob blob struct list sexp bag`)

// operatorWords are the keywords that are operators.
var operatorWords = words(`and or not in is between like union intersect except`)

// literalWords are the words with a token kind of their own.
var literalWords = map[string]tokenKind{"true": tokenBoolean, "false": tokenBoolean, "null": tokenNull, "missing": tokenMissing,
	"as": tokenAs, "at": tokenAt, "by": tokenBy, "asc": tokenAsc, "desc": tokenDesc, "for": tokenFor}

// joined maps sequences of keywords, for example IS NOT, to the one token that they form.
var joined = map[string]string{
	"not in": "not_in", "is not": "is_not", "not between": "not_between", "not like": "not_like",
	"union all": "union_all", "intersect all": "intersect_all", "except all": "except_all",
	"character varying": "character_varying", "double precision": "double_precision",
	"cross join": "cross_join", "inner join": "inner_join", "inner cross join": "cross_join",
	"left join": "left_join", "left outer join": "left_join", "left cross join": "left_cross_join", "left outer cross join": "left_cross_join",
	"right join": "right_join", "right outer join": "right_join", "right cross join": "right_cross_join", "right outer cross join": "right_cross_join",
	"full join": "outer_join", "outer join": "outer_join", "full outer join": "outer_join", "full cross join": "outer_cross_join",
	"outer cross join": "outer_cross_join", "full outer cross join": "outer_cross_join",
	"insert into": "insert_into", "on conflict": "on_conflict", "do nothing": "do_nothing",
	"modified old": "modified_old", "modified new": "modified_new", "all old": "all_old", "all new": "all_new",
}

// maxJoined is the maximum number of words in a key of joined.
const maxJoined = 4

// types maps the words that may follow IS to their maximum number of arguments.
var types = map[string]int{"missing": 0, "null": 0, "boolean": 0, "smallint": 0, "integer": 0, "int4": 0, "int8": 0, "float": 1, "real": 0,
	"double_precision": 0, "decimal": 2, "numeric": 2, "timestamp": 0, "character": 1, "character_varying": 1, "string": 0,
	"symbol": 0, "clob": 0, "blob": 0, "struct": 0, "tuple": 0, "list": 0, "sexp": 0, "bag": 0, "any": 0}

// aliases maps words to the keywords that they are synonyms of.
var aliases = map[string]string{"varchar": "character_varying", "char": "character", "dec": "decimal", "int": "integer", "bool": "boolean"}

// functions are the keywords that are names of functions.
var functions = words(`exists count avg max min sum char_length character_length octet_length bit_length upper lower size
sexp list bag trim substring extract coalesce nullif`)

// aggregates are the functions that aggregate rows.
var aggregates = words(`count avg max min sum`)

// words returns a function that returns the set of the words of a text. The set is made at the
// first call: most processes parse no statement.
func words(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.Fields(text) {
			set[w] = true
		}
		return set
	})
}

// precedences are the precedences of the binary operators. A higher one binds tighter.
var precedences = map[string]int{"union": 5, "union_all": 5, "intersect": 5, "intersect_all": 5, "except": 5, "except_all": 5,
	"or": 10, "and": 20, "=": 40, "<>": 40, "is": 40, "is_not": 40, "in": 40, "not_in": 40,
	"<": 50, "<=": 50, ">": 50, ">=": 50, "between": 50, "not_between": 50, "like": 50, "not_like": 50,
	"+": 60, "-": 60, "||": 60, "*": 70, "/": 70, "%": 70}

// Precedences of other operators and contexts.
const (
	lowestPrecedence = -1
	clausePrecedence = 6 // inside the clauses of a SELECT
	notPrecedence    = 30
)

// tokenize cuts a statement into tokens, the last of which is tokenEnd. It returns false if
// the statement has an invalid token.
func tokenize(stmt []byte) ([]token, bool) {
	l := newLexer(stmt)
	tokens := make([]token, 0, len(stmt)/4+2)
	for {
		t := l.next()
		t.classify()
		switch t.kind {
		case tokenBad:
			return nil, false
		case tokenEnd:
			return append(tokens, t), true
		}
		tokens = join(append(tokens, t))
	}
}

// classify recognises keywords and operators.
func (t *token) classify() {
	switch t.kind {
	case tokenOperator:
		if t.word = string(t.text); t.word == "!=" {
			t.word = "<>"
		}
	case tokenStar:
		t.word = "*"
	case tokenWord:
		lower := strings.ToLower(string(t.text))
		kind, ok := literalWords[lower]
		switch {
		case ok:
			t.kind = kind
		case operatorWords()[lower]:
			t.kind = tokenOperator
		case keywords()[lower]:
			t.kind = tokenKeyword
			if alias, ok := aliases[lower]; ok {
				lower = alias
			}
		default:
			return
		}
		t.word = lower
	}
}

// join replaces the last tokens with one if they form a joined keyword.
func join(tokens []token) []token {
	if tokens[len(tokens)-1].kind != tokenKeyword && tokens[len(tokens)-1].kind != tokenOperator {
		return tokens
	}
	for n := min(maxJoined, len(tokens)); n > 1; n-- {
		last := tokens[len(tokens)-n:]
		text := make([]string, 0, maxJoined)
		for i := range last {
			if last[i].kind != tokenKeyword && last[i].kind != tokenOperator {
				break
			}
			text = append(text, last[i].word)
		}
		word, ok := joined[strings.Join(text, " ")]
		if len(text) < n || !ok {
			continue
		}
		t := last[0]
		t.word, t.kind = word, tokenKeyword
		if _, operator := precedences[word]; operator {
			t.kind = tokenOperator
		}
		return append(tokens[:len(tokens)-n], t)
	}
	return tokens
}
