package mcp

import (
	"context"
	"errors"

	"github.com/kasoku/kasoku/internal/dynamo/partiql"
)

// statementTool returns the tool for PartiQL.
func statementTool() *tool {
	return &tool{name: "execute_statement", operation: "ExecuteStatement", run: executeStatement,
		help: "Execute a PartiQL statement of DynamoDB on one table. A SELECT whose condition does not name the partition key reads the whole table.",
		arguments: []argument{
			{"statement", "Statement", textKind, true, `The statement, such as SELECT * FROM "orders" WHERE id = ?.`},
			{"parameters", "Parameters", valuesKind, false, `Values for the question marks, such as [{"S":"a"}], or plain JSON: ["a"].`},
			consistent,
			{"limit", "", limitKind, false, "The maximum number of items to read. Default: 25."},
			{"next_token", "NextToken", textKind, false, "The NextToken of an earlier result of the same statement, to continue after it."},
		}}
}

// executeStatement executes a statement if its kind and table are certain and allowed.
func executeStatement(ctx context.Context, s *Server, t *tool, args arguments) (answer, error) {
	statement, ok := partiql.Parse([]byte(text(args["statement"])))
	if !ok {
		return answer{}, errors.New("the kind or the table of the statement is not certain; comments, literals in backticks and several statements are not accepted")
	}
	if err := s.checkName(string(statement.Table)); err != nil {
		return answer{}, err
	}
	if statement.Kind == partiql.Select {
		return s.page(ctx, t.operation, t.request(args), args.number("limit", standardLimit), "NextToken", "next_token")
	}
	if !s.o.Write {
		return answer{}, errors.New("this server was started without --write, and accepts only SELECT")
	}
	return s.write(ctx, t, args)
}
